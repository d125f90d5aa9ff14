import type { Plan, Tensor } from "@centella/core";
import { ProgramError } from "@centella/core";
import type { GreedyTokens, Request } from "./request.ts";

/** Part of a request that one run computes: its next `count` tokens, of which the last `rows` give output rows. */
export interface Slice {
  readonly request: Request;
  readonly count: number;
  readonly rows: number;
}

/** Limits of one run. */
export interface BatchLimits {
  /** Maximum number of tokens. */
  readonly batchSize: number;
  /** Maximum number of output rows. */
  readonly maxRows: number;
  /** Whether tokens attend to later ones, so that a text must be computed in a single run. */
  readonly isEncoder: boolean;
}

/** What the inputs and outputs of a model's program depend on. */
export interface BatchLayout {
  /** Blocks of a sequence's block table. */
  readonly maxBlocks: number;
  /** Whether tokens read and write rows of recurrent state. */
  readonly isRecurrent: boolean;
  readonly output: "logits" | "states";
}

/** A submitted run. */
export interface RunningBatch {
  readonly slices: readonly Slice[];
  readonly outputs: Readonly<Record<string, Tensor>>;
}

/** Output of a run: rows of the requests that read them, and the most likely tokens of all rows if another request reads those. */
export interface BatchRows {
  readonly values: Float32Array;
  readonly greedy: GreedyTokens | undefined;
}

/** Chooses what the next run computes: requests that the last runs had no room for, then those with the fewest tokens left. */
export function nextSlices(requests: readonly Request[], { batchSize, maxRows, isEncoder }: BatchLimits): readonly Slice[] {
  const slices: Slice[] = [];
  let [tokens, rows] = [batchSize, maxRows];
  const left = ({ ids, done }: Request): number => ids.length - done;
  for (const request of requests.toSorted((a, b) => b.skipped - a.skipped || left(a) - left(b))) {
    const wanted = request.options.rows;
    const count = Math.min(left(request), tokens, wanted === "all" ? rows : tokens);
    const isLast = count === left(request);
    const rowCount = wanted === "all" ? count : wanted === "last" && isLast ? 1 : 0;
    const isWhole = request.options.isDraft || isEncoder;
    if (count === 0 || rowCount > rows || (isWhole && !isLast)) {
      request.skipped++;
      continue;
    }
    request.skipped = 0;
    slices.push({ request, count, rows: rowCount });
    tokens -= count;
    rows -= rowCount;
  }
  return slices;
}

/** Reserves the cache slots of a run and submits it. Runs execute in the order of these calls. */
export function submit(plan: Plan, slices: readonly Slice[], layout: BatchLayout): RunningBatch {
  const T = sum(slices, ({ count }) => count);
  const nOut = sum(slices, ({ rows }) => rows);
  const hasLogits = layout.output === "logits";
  const inputs = {
    tokens: new Int32Array(T),
    positions: new Int32Array(T),
    slots: new Int32Array(T),
    seqOf: new Int32Array(T),
    blockTable: new Int32Array(slices.length * layout.maxBlocks),
    seqLens: new Int32Array(slices.length),
    outRows: new Int32Array(nOut),
    ...(layout.isRecurrent && { stateRows: new Int32Array(T) }),
    ...(hasLogits && { readRows: new Int32Array(readCount(slices)) }),
  };
  let [token, row, read] = [0, 0, 0];
  for (const [i, { request, count, rows }] of slices.entries()) {
    const { sequence, ids, done, output } = request;
    const start = sequence.ids.length;
    const end = token + count;
    inputs.slots.set(sequence.reserve(count), token);
    inputs.blockTable.set(sequence.blocks, i * layout.maxBlocks);
    inputs.seqLens[i] = start + count;
    inputs.seqOf.fill(i, token, end);
    inputs.tokens.set(ids.slice(done, done + count), token);
    inputs.stateRows?.fill(sequence.stateRow, token, end);
    for (let j = 0; j < count; j++) inputs.positions[token + j] = start + j;
    for (let j = 0; j < rows; j++) {
      if (output.kind === "values" && inputs.readRows !== undefined) inputs.readRows[read++] = row;
      inputs.outRows[row++] = end - rows + j;
    }
    token = end;
  }
  // A run that serves several requests is not stopped for one of them.
  const signal = slices.length === 1 ? slices[0]?.request.options.signal : undefined;
  const dims = { T, nOut, nSeq: slices.length, ...(inputs.readRows && { nRead: inputs.readRows.length }) };
  return { slices, outputs: plan.run(inputs, { dims, ...(signal && { signal }) }) };
}

/** Waits for a run and reads the rows that its requests want. Frees the run's outputs. */
export async function readRows({ slices, outputs }: RunningBatch, { output }: BatchLayout): Promise<BatchRows> {
  try {
    const all = sum(slices, ({ rows }) => rows);
    const read = readCount(slices);
    // Without rows, the empty output shows that the run is done, or why it failed.
    const values = read > 0 || all === 0 ? ((await dataOf(outputs, output)) as Float32Array) : new Float32Array(0);
    if (read === all) return { values, greedy: undefined };
    const [ids, logits] = await Promise.all([dataOf(outputs, "greedyTokens"), dataOf(outputs, "maxLogits")]);
    return { values, greedy: { ids: ids as Int32Array, logits: logits as Float32Array } };
  } finally {
    for (const tensor of Object.values(outputs)) tensor.dispose();
  }
}

/** Copies each request's rows to its output. `width` is the number of elements of a row. */
export function deliver(slices: readonly Slice[], { values, greedy }: BatchRows, width: number): void {
  let [row, read] = [0, 0];
  for (const { request, rows } of slices) {
    const { output, options, done } = request;
    const from = options.rows === "all" ? done : 0;
    if (output.kind === "values") {
      output.values.set(values.subarray(read * width, (read + rows) * width), from * width);
      read += rows;
    } else if (greedy !== undefined) {
      output.greedy.ids.set(greedy.ids.subarray(row, row + rows), from);
      output.greedy.logits.set(greedy.logits.subarray(row, row + rows), from);
    }
    row += rows;
  }
}

/** Rows that leave the device as a whole. */
function readCount(slices: readonly Slice[]): number {
  return sum(slices, ({ request, rows }) => (request.output.kind === "values" ? rows : 0));
}

function dataOf(outputs: RunningBatch["outputs"], name: string): ReturnType<Tensor["data"]> {
  const tensor = outputs[name];
  if (tensor === undefined) throw new ProgramError(`run: expected a model's program with the output ${name}, got none`);
  return tensor.data();
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
