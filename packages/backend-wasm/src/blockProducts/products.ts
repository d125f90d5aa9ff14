import { elementAt, mapTuple } from "@centella/core/backend";
import { type FunctionBuilder, i16x8, i32x4, type Local, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Quad } from "../formats/block.ts";
import type { GroupFormat } from "../formats/format.ts";
import type { Target } from "../target.ts";
import { type ActivationLayout, type Lanes, wordAt } from "./activations.ts";
import { areInPairs, type BlockWeights } from "./weights.ts";

/** Blocks of activations of `count` tokens at `address`. */
export interface Tokens {
  readonly layout: ActivationLayout;
  readonly address: Local<"i32">;
  readonly count: number;
  /** Base of biases, if not `address`. */
  readonly biases?: Local<"i32">;
}

/** Loads the word at `offset` of a token's block to all lanes. */
export function loadWord({ address, count }: Tokens, token: number, offset: number): V128 {
  return v128.load32Splat(address, wordAt(offset, token, count));
}

/** A vector that is read and written in place: a local, or memory if registers do not suffice. */
export interface Slot {
  readonly value: V128;
  set(value: V128): void;
}

export function localSlot(f: FunctionBuilder, local: Local<"v128"> = f.local("v128")): Slot {
  return { value: local, set: (value) => f.set(local, value) };
}

export function memorySlot(f: FunctionBuilder, address: Local<"i32">, offset: number): Slot {
  return { value: v128.load(address, offset), set: (value) => f.store(address, value, offset) };
}

/** Sums per token and quad. */
export type Slots = (token: number, quad: Quad) => Slot;

/** A slot that is set by its first write and added to by later ones. */
class Sum {
  readonly #slot: Slot;
  #isSet = false;

  constructor(slot: Slot) {
    this.#slot = slot;
  }

  get value(): V128 {
    return this.#slot.value;
  }

  /** Sets or adds with an instruction that takes the current sum. */
  accumulate(add: (sum: V128) => V128): void {
    this.#slot.set(add(this.#isSet ? this.#slot.value : v128.zero()));
    this.#isSet = true;
  }

  /** Sets, or combines with `add`, a computed value. */
  add(value: V128, add: (a: V128, b: V128) => V128 = i32x4.add): void {
    this.#slot.set(this.#isSet ? add(this.#slot.value, value) : value);
    this.#isSet = true;
  }

  /** Makes the next write set the value. */
  clear(): void {
    this.#isSet = false;
  }
}

/** The sum of a token's quad. */
function sumAt(sums: readonly (readonly Sum[])[], token: number, quad: Quad): Sum {
  return elementAt(elementAt(sums, token), quad);
}

/** Number of sums of two products that fit into 16 bits, if sums are temporarily that wide. Intermediate sums may wrap around. */
function pairLimit({ largestCode, biasBits = 0 }: GroupFormat, target: Target, lanes: Lanes): number | undefined {
  if (largestCode === undefined || !areInPairs(target, lanes)) return undefined;
  const bias = biasBits > 0 ? 2 ** biasBits : 0;
  return Math.floor(32767 / (2 * 127 * Math.max(bias, largestCode - bias)));
}

/** Codes of a quad, and the values of a token that multiply them. */
interface Factors {
  readonly token: number;
  readonly quad: Quad;
  readonly code: Local<"v128">;
  readonly x: Local<"v128">;
  readonly part: number;
}

/** Operands of {@link Products}. */
interface ProductOptions {
  readonly format: GroupFormat;
  readonly tokens: Tokens;
  /** Rows that are processed together. */
  readonly quads: readonly Quad[];
  readonly hasScales: boolean;
  /** Memory for totals that are added to more than once; by default locals. */
  readonly totals: Slots | undefined;
}

/**
 * Emits integer products of codes with the activations of some tokens, in the way that suits the target. Totals are per
 * token and quad, with each run multiplied by its scales. All sums are exact.
 */
export class Products {
  readonly #f: FunctionBuilder;
  readonly #target: Target;
  readonly #tokens: Tokens;
  readonly #quads: readonly Quad[];
  readonly #biasBits: number;
  readonly #unitsPerRun: number;
  /** By token and quad. */
  readonly #totals: readonly (readonly Sum[])[];
  readonly #runs: readonly (readonly Sum[])[];
  /** Products of the negative parts, if activations are split and products are added by fours. */
  readonly #below: readonly (readonly Sum[])[];
  /** Products that are not added yet. */
  readonly #products: readonly Local<"v128">[];
  /** Products of pairs that a quad's 16-bit lanes hold so far. */
  readonly #taken: Record<Quad, number> = { 0: 0, 1: 0, 2: 0, 3: 0 };
  /** Number of sums of two products that fit into 16 bits. Undefined if sums are never 16 bits wide. */
  readonly #pairLimit: number | undefined;

  constructor(f: FunctionBuilder, target: Target, { format, tokens, quads, hasScales, totals }: ProductOptions) {
    this.#f = f;
    this.#target = target;
    this.#tokens = tokens;
    this.#quads = quads;
    this.#biasBits = format.biasBits ?? 0;
    this.#pairLimit = pairLimit(format, target, tokens.layout.lanes);
    this.#unitsPerRun = format.runElements / 4;
    this.#products = f.locals("v128", Math.min(tokens.count, quads.length));
    const sums = (slots?: Slots): readonly (readonly Sum[])[] =>
      Array.from({ length: tokens.count }, (_, t) => {
        const own: Sum[] = [];
        for (const quad of quads) own[quad] = new Sum(slots?.(t, quad) ?? localSlot(f));
        return own;
      });
    const isAddedTo = hasScales || (this.#pairLimit !== undefined && this.#pairLimit < this.#unitsPerRun);
    this.#totals = sums(isAddedTo ? totals : undefined);
    this.#runs = hasScales || this.#pairLimit !== undefined ? sums() : this.#totals;
    this.#below = tokens.layout.lanes === "split" && target.dots !== "pairs" ? sums() : [];
  }

  /** Whether 16-bit sums start at the bias of the codes, so that nothing has to be subtracted later. */
  get startsBiased(): boolean {
    return this.#pairLimit !== undefined && this.#biasBits > 0;
  }

  /** The total of a token's quad. */
  total(token: number, quad: Quad): V128 {
    return sumAt(this.#totals, token, quad).value;
  }

  /** Sets totals to 0, for runs that are added in a loop. */
  startTotals(): void {
    for (const token of this.#totals.keys()) for (const quad of this.#quads) this.addToTotal(token, quad, v128.zero());
  }

  /** Adds to the total of a token's quad. */
  addToTotal(token: number, quad: Quad, value: V128): void {
    sumAt(this.#totals, token, quad).add(value);
  }

  /** Adds the products of unit `index`: four elements of a run. */
  add(index: number, weights: BlockWeights): void {
    const { lanes, biases } = this.#tokens.layout;
    if (lanes === "wide") {
      for (const factors of this.#factors(index, weights, [0, 1])) this.#addProducts(factors, i32x4.dotI16x8, i32x4.add);
    } else if (this.#pairLimit !== undefined) {
      const run = Math.floor(index / this.#unitsPerRun);
      for (const quad of this.#quads) {
        if (this.#taken[quad] === this.#pairLimit) this.#empty(quad, weights.scales?.factor(quad, run));
        this.#taken[quad]++;
      }
      if (this.startsBiased && index % this.#unitsPerRun === 0) {
        const fromBiases = { ...this.#tokens, address: this.#tokens.biases ?? this.#tokens.address };
        for (let t = 0; t < this.#tokens.count; t++) {
          const bias = this.#f.let(i16x8.shl(loadWord(fromBiases, t, biases + 4 * run), this.#biasBits));
          for (const quad of this.#quads) sumAt(this.#runs, t, quad).add(bias);
        }
      }
      for (const factors of this.#factors(index, weights, [0])) {
        this.#addProducts(factors, (code, x) => relaxed.dotI8x16I7x16(x, code), i16x8.add);
      }
    } else if (lanes === "split" && this.#target.dots === "pairs") {
      this.#addDifferences(index, weights);
    } else {
      const isSplit = lanes === "split";
      for (const factors of this.#factors(index, weights, isSplit ? [0, 1] : [0])) {
        factors.forEach(({ token, quad, code, x, part }) => {
          const own = sumAt(part === 0 ? this.#runs : this.#below, token, quad);
          own.accumulate((sum) => relaxed.dotI8x16I7x16Add(isSplit ? code : x, isSplit ? x : code, sum));
        });
      }
    }
  }

  /**
   * Adds the products of unit `index` with split activations, positive parts minus negative ones. One part of each
   * value is 0, so two byte products fit into 16 bits, but no more.
   */
  #addDifferences(index: number, { codes }: BlockWeights): void {
    const f = this.#f;
    for (let token = 0; token < this.#tokens.count; token++) {
      const [above, below] = [f.let(this.#values(token, index, 0)), f.let(this.#values(token, index, 1))];
      for (const quad of this.#quads) {
        const [bytes] = codes(index, quad);
        const code = f.let(bytes);
        const pairs = i16x8.sub(relaxed.dotI8x16I7x16(code, above), relaxed.dotI8x16I7x16(code, below));
        sumAt(this.#runs, token, quad).add(i32x4.dotI16x8(pairs, f.splatBits(0x00010001)));
      }
    }
  }

  /** All products come before the sums, which then wait less. */
  #addProducts(factors: readonly Factors[], multiply: (code: V128, x: V128) => V128, add: (a: V128, b: V128) => V128): void {
    const products = this.#products;
    factors.forEach(({ code, x }, i) => void this.#f.set(elementAt(products, i), multiply(code, x)));
    factors.forEach(({ token, quad }, i) => void sumAt(this.#runs, token, quad).add(elementAt(products, i), add));
  }

  /**
   * Loads the codes of each quad in unit `index` and the values of each token, in parts: 16 bits each, or the positive
   * and the negative part. The smaller set of operands stays in registers.
   */
  *#factors(index: number, { codes }: BlockWeights, parts: readonly number[]): Iterable<readonly Factors[]> {
    const f = this.#f;
    const tokens = Array.from({ length: this.#tokens.count }, (_, token) => token);
    // Both parts of split activations use the same codes.
    const codePart = (part: number): number => (this.#tokens.layout.lanes === "wide" ? part : 0);
    if (this.#quads.length > tokens.length) {
      for (const part of parts) {
        const values = tokens.map((token) => f.let(this.#values(token, index, part)));
        for (const quad of this.#quads) {
          const code = f.let(elementAt(codes(index, quad), codePart(part)));
          yield values.map((x, token) => ({ token, quad, code, x, part }));
        }
      }
    } else {
      const vectors = this.#quads.map((quad) => ({ quad, own: mapTuple(codes(index, quad), (code) => f.let(code)) }));
      for (const part of parts) {
        for (const token of tokens) {
          const x = f.let(this.#values(token, index, part));
          yield vectors.map(({ quad, own }) => ({ token, quad, code: elementAt(own, codePart(part)), x, part }));
        }
      }
    }
  }

  /** Values of unit `index` of a token in all lanes: four bytes of `part` 0 or 1, or two times 16 bits. */
  #values(token: number, index: number, part: number): V128 {
    const { lanes, negative } = this.#tokens.layout;
    return loadWord(this.#tokens, token, lanes === "wide" ? 8 * index + 4 * part : 4 * index + part * negative);
  }

  /** Ends a run of a quad: adds its sums, times its scale if it has one, to the totals. */
  endRun(quad: Quad, factor: V128 | undefined): void {
    this.#below.forEach((_, t) => {
      const below = sumAt(this.#below, t, quad);
      // The products of the run itself are set before anything is subtracted.
      sumAt(this.#runs, t, quad).accumulate((sum) => i32x4.sub(sum, below.value));
      below.clear();
    });
    if (this.#pairLimit !== undefined) this.#empty(quad, factor);
    else if (factor !== undefined) {
      const shared = this.#f.let(factor);
      this.#runs.forEach((_, t) => {
        const run = sumAt(this.#runs, t, quad);
        sumAt(this.#totals, t, quad).add(i32x4.mul(run.value, shared));
        run.clear();
      });
    }
  }

  /** Restarts the totals of a quad. */
  clear(quad: Quad): void {
    for (const token of this.#totals.keys()) sumAt(this.#totals, token, quad).clear();
  }

  #empty(quad: Quad, factor: V128 | undefined): void {
    const factors = factor === undefined ? this.#f.splatBits(0x00010001) : this.#f.let(factor);
    this.#runs.forEach((_, t) => {
      const run = sumAt(this.#runs, t, quad);
      sumAt(this.#totals, t, quad).add(i32x4.dotI16x8(run.value, factors));
      run.clear();
    });
    this.#taken[quad] = 0;
  }
}
