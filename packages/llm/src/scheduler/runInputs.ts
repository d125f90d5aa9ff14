import type { DimValues } from "@centella/core";
import { blocksOf } from "../cache/prefixCache.ts";
import type { Request, TokenChoice } from "./request.ts";

/** Part of a request that one run computes: its next `count` tokens, of which the last `rows` give output rows, unless the request names others. */
export interface Slice {
  readonly request: Request;
  readonly count: number;
  readonly rows: number;
}

/** Further inputs of a run, and their extents. */
export type FurtherInputs = (slices: readonly Slice[]) => {
  readonly data: Readonly<Record<string, Float32Array | Int32Array>>;
  readonly dims: DimValues;
};

/** What the inputs of a model's program depend on. */
export interface InputLayout {
  readonly contextLength: number;
  /** Whether tokens read and write rows of recurrent state. */
  readonly isRecurrent: boolean;
  readonly output: "logits" | "states";
  readonly vocabSize: number;
  /** Maximum number of runs that are queued at once. With more than one, runs keep chosen tokens on the device; see `ChosenTokens`. */
  readonly runsInFlight: number;
  /** Whether the program keeps the logits of rows whose choice is deferred; see `DeferredChoices`. Default false: there are no such rows. */
  readonly keepsLogits?: boolean;
  /** Inputs that only some models have. */
  readonly further?: FurtherInputs | undefined;
}

/** A run's extents. */
interface Extents extends DimValues {
  readonly T: number;
  readonly nSeq: number;
  readonly nOut: number;
  /** Rows whose logits leave the device. Undefined for a program that outputs states. */
  readonly nRead?: number;
  /** Rows whose tokens are chosen under a mask. Undefined for a program that outputs states. */
  readonly nMask?: number;
  /** Rows whose tokens the run chooses. Undefined unless the program keeps the logits of the others. */
  readonly nChosen?: number;
}

const extentNames = ["T", "nSeq", "nOut", "nRead", "nMask", "nChosen"] as const;

/** Inputs of a program that chooses tokens, with a value for each row; see core's `sample`. */
type ChoiceInputs = {
  readonly seeds: Int32Array;
  readonly drawPositions: Int32Array;
  readonly temperatures: Float32Array;
  readonly topKs: Int32Array;
  readonly topPs: Float32Array;
  readonly minPs: Float32Array;
  readonly masks: Int32Array;
  readonly maskRows: Int32Array;
};

/** Inputs of a model's program, by name. */
type Inputs = Partial<ChoiceInputs> & {
  readonly tokens: Int32Array;
  readonly positions: Int32Array;
  readonly slots: Int32Array;
  readonly seqOf: Int32Array;
  readonly blockTable: Int32Array;
  readonly seqLens: Int32Array;
  readonly outRows: Int32Array;
  readonly stateRows?: Int32Array;
  readonly readRows?: Int32Array;
  /** With more than one run in flight: entries of chosen tokens that the tokens come from, and that the rows' tokens go to. */
  readonly tokenBlocks?: Int32Array;
  readonly chosenBlocks?: Int32Array;
  /** Output rows whose tokens the run chooses. Only with `keptTo`. */
  readonly chosenRows?: Int32Array;
  /** For each output row, the row of the kept logits that it is copied to, -1 for none. Only in programs that keep logits. */
  readonly keptTo?: Int32Array;
};

/** Fills in the inputs of runs. The arrays of the last run are reused, because plans copy them. */
export class RunInputs {
  readonly #layout: InputLayout;
  readonly #maxBlocks: number;
  #dims: Extents | undefined;
  #inputs: Inputs | undefined;
  #choices: ChoiceInputs | undefined;

  constructor(layout: InputLayout) {
    this.#layout = layout;
    this.#maxBlocks = blocksOf(layout.contextLength);
  }

  /** The inputs and dims of a run. Takes the blocks that its tokens need. The arrays are valid until the next call. */
  fill(slices: readonly Slice[]): { readonly data: Inputs; readonly dims: Extents } {
    const dims = this.#extentsOf(slices);
    const isSame = extentNames.every((name) => this.#dims?.[name] === dims[name]);
    if (!isSame || this.#inputs === undefined) {
      this.#choices = this.#layout.output === "logits" ? createChoices(dims, this.#layout) : undefined;
      this.#inputs = { ...createInputs(dims, this.#maxBlocks, this.#layout), ...this.#choices };
    }
    this.#dims = dims;
    const data = this.#inputs;
    let [token, row, read, chosen, masked] = [0, 0, 0, 0, 0];
    for (const [i, slice] of slices.entries()) {
      this.#fillTokens(data, slice, token, i);
      token += slice.count;
      const { request } = slice;
      const { output, isDeferred, keptRow = -1, options } = request;
      const { rows: wanted } = options;
      for (let j = slice.rows; j > 0; j--) {
        if (output.kind === "values" && data.readRows !== undefined) data.readRows[read++] = row;
        if (data.keptTo !== undefined) data.keptTo[row] = keptRow;
        if (!isDeferred) {
          const choice = output.kind === "tokens" ? output.choice : undefined;
          if (this.#choices !== undefined) this.#fillChoice(this.#choices, chosen, choice, slice.rows - j, masked);
          if (choice?.masks !== undefined) masked++;
          if (data.chosenRows !== undefined) data.chosenRows[chosen] = row;
          if (data.chosenBlocks !== undefined) data.chosenBlocks[chosen] = -1;
          chosen++;
        }
        data.outRows[row++] = typeof wanted === "object" ? token - slice.count + wanted[slice.rows - j]! : token - j;
      }
      if (data.chosenBlocks !== undefined && slice.rows > 0 && !isDeferred && this.#mayContinue(request)) {
        data.chosenBlocks[chosen - 1] = request.sequence.blockOf(request.end);
      }
    }
    const further = this.#layout.further?.(slices);
    return { data: { ...data, ...further?.data }, dims: { ...dims, ...further?.dims } };
  }

  /** Options of a row's choice. Rows whose logits are read take the greatest logit, which costs least. */
  #fillChoice(data: ChoiceInputs, row: number, choice: TokenChoice | undefined, place: number, masked: number): void {
    const { seed, temperature, topK, topP, minP } = choice?.sampling ?? unused;
    data.seeds.set(seed, 2 * row);
    data.drawPositions[row] = (choice?.position ?? 0) + place;
    data.temperatures[row] = temperature;
    data.topKs[row] = topK;
    data.topPs[row] = topP;
    data.minPs[row] = minP;
    const allowed = choice?.masks?.[place];
    data.maskRows[row] = allowed === undefined ? -1 : masked;
    if (allowed === undefined) return;
    const words = maskWords(this.#layout);
    const mask = data.masks.subarray(masked * words, (masked + 1) * words);
    mask.fill(0);
    mask.set(allowed.subarray(0, words));
  }

  #fillTokens(data: Inputs, { request, count }: Slice, token: number, i: number): void {
    const { sequence, ids, done } = request;
    const start = request.start + done;
    sequence.reserveUntil(start + count + (this.#mayContinue(request) ? 1 : 0));
    sequence.writeBlocks(data.blockTable, i * this.#maxBlocks);
    data.seqLens[i] = start + count;
    for (let j = 0; j < count; j++) {
      const id = ids[done + j];
      data.tokens[token + j] = id ?? -1;
      data.positions[token + j] = start + j;
      data.slots[token + j] = sequence.slotOf(start + j);
      data.seqOf[token + j] = i;
      if (data.tokenBlocks !== undefined) data.tokenBlocks[token + j] = id === undefined ? sequence.blockOf(start) : -1;
      if (data.stateRows !== undefined) data.stateRows[token + j] = sequence.stateRow;
    }
  }

  /** Whether the token that a request chooses may be fed before it is known. */
  #mayContinue({ following, end }: Request): boolean {
    return following > 0 && end < this.#layout.contextLength;
  }

  #extentsOf(slices: readonly Slice[]): Extents {
    let [T, nOut, nRead, nMask, nKept] = [0, 0, 0, 0, 0];
    for (const { request, count, rows } of slices) {
      T += count;
      nOut += rows;
      if (request.output.kind === "values") nRead += rows;
      else if (request.isDeferred) nKept += rows;
      else if (request.output.choice.masks !== undefined) nMask += rows;
    }
    const { output, keepsLogits } = this.#layout;
    const dims = { T, nOut, nSeq: slices.length };
    return output === "states" ? dims : { ...dims, nRead, nMask, ...(keepsLogits && { nChosen: nOut - nKept }) };
  }
}

/** Options of rows whose chosen tokens are not read. */
const unused = { seed: [0, 0], temperature: 0, topK: 0, topP: 1, minP: 0 } as const;

/** Words of a mask of the vocabulary. */
function maskWords({ vocabSize }: Pick<InputLayout, "vocabSize">): number {
  return Math.ceil(vocabSize / 32);
}

function createChoices({ nOut, nMask = 0, nChosen = nOut }: Extents, layout: InputLayout): ChoiceInputs {
  return {
    seeds: new Int32Array(2 * nChosen),
    drawPositions: new Int32Array(nChosen),
    temperatures: new Float32Array(nChosen),
    topKs: new Int32Array(nChosen),
    topPs: new Float32Array(nChosen),
    minPs: new Float32Array(nChosen),
    masks: new Int32Array(nMask * maskWords(layout)),
    maskRows: new Int32Array(nChosen),
  };
}

function createInputs(dims: Extents, maxBlocks: number, { isRecurrent, runsInFlight, keepsLogits }: InputLayout): Inputs {
  const { T, nOut, nSeq, nRead, nChosen = nOut } = dims;
  return {
    tokens: new Int32Array(T),
    positions: new Int32Array(T),
    slots: new Int32Array(T),
    seqOf: new Int32Array(T),
    blockTable: new Int32Array(nSeq * maxBlocks),
    seqLens: new Int32Array(nSeq),
    outRows: new Int32Array(nOut),
    ...(isRecurrent && { stateRows: new Int32Array(T) }),
    ...(nRead !== undefined && { readRows: new Int32Array(nRead) }),
    ...(runsInFlight > 1 && { tokenBlocks: new Int32Array(T), chosenBlocks: new Int32Array(nChosen) }),
    ...(keepsLogits && { chosenRows: new Int32Array(nChosen), keptTo: new Int32Array(nOut) }),
  };
}
