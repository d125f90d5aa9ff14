import { type FunctionBuilder, i16x8, i32x4, type Local, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import { type ActivationLayout, wordAt } from "./activations.ts";
import type { Half } from "./block.ts";
import type { GroupFormat } from "./format.ts";
import { areInPairs, type BlockWeights } from "./weights.ts";

/** Blocks of activations of `count` tokens, from `address` on. */
export interface Tokens {
  readonly layout: ActivationLayout;
  readonly address: Local<"i32">;
  readonly count: number;
}

/** The word at `offset` of a token's block in all lanes. */
export function loadWord({ address, count }: Tokens, token: number, offset: number): V128 {
  return v128.load32Splat(address, wordAt(offset, token, count));
}

/** A vector that is read and written in place: a local, or memory where there are more of them than registers. */
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

/** Sums per token and half. */
export type Slots = (token: number, half: Half) => Slot;

/** A slot whose first write sets; the others add. */
class Sum {
  readonly #slot: Slot;
  #isSet = false;

  constructor(slot: Slot) {
    this.#slot = slot;
  }

  get value(): V128 {
    return this.#slot.value;
  }

  /** Sets or adds by an instruction that takes the sum so far. */
  accumulate(add: (sum: V128) => V128): void {
    this.#slot.set(add(this.#isSet ? this.#slot.value : v128.zero()));
    this.#isSet = true;
  }

  /** Sets or adds, by `add`, what has been computed. */
  add(value: V128, add: (a: V128, b: V128) => V128 = i32x4.add): void {
    this.#slot.set(this.#isSet ? add(this.#slot.value, value) : value);
    this.#isSet = true;
  }

  /** The next write sets. */
  clear(): void {
    this.#isSet = false;
  }
}

/** What {@link Products} multiplies. */
interface ProductOptions {
  readonly format: GroupFormat;
  readonly tokens: Tokens;
  /** Halves that are worked on together. */
  readonly halves: readonly Half[];
  readonly hasScales: boolean;
  /** Where totals go that are added to more than once; undefined: locals. */
  readonly totals: Slots | undefined;
}

/**
 * Emits the integer products of codes with the activations of some tokens, in the way that the target likes: totals per token and half,
 * each run multiplied by its scales. All sums are exact.
 */
export class Products {
  readonly #f: FunctionBuilder;
  readonly #target: Target;
  readonly #tokens: Tokens;
  readonly #halves: readonly Half[];
  readonly #hasScales: boolean;
  readonly #largestCode: number | undefined;
  readonly #biasBits: number;
  readonly #unitsPerRun: number;
  /** By token and half. */
  readonly #totals: readonly (readonly Sum[])[];
  readonly #runs: readonly (readonly Sum[])[];
  /** Products of the negative parts, where activations are split. */
  readonly #below: readonly (readonly Sum[])[];
  /** Products of pairs that a 16-bit lane has taken so far. */
  readonly #taken = [0, 0];

  constructor(f: FunctionBuilder, target: Target, { format, tokens, halves, hasScales, totals }: ProductOptions) {
    this.#f = f;
    this.#target = target;
    this.#tokens = tokens;
    this.#halves = halves;
    this.#hasScales = hasScales;
    this.#largestCode = format.largestCode;
    this.#biasBits = format.biasBits ?? 0;
    this.#unitsPerRun = format.runElements / 4;
    const sums = (slots?: Slots): readonly (readonly Sum[])[] =>
      Array.from({ length: tokens.count }, (_, t) => ([0, 1] as const).map((half) => new Sum(slots?.(t, half) ?? localSlot(f))));
    const isAddedTo = hasScales || (this.#isInPairs && this.#pairLimit < this.#unitsPerRun);
    this.#totals = sums(isAddedTo ? totals : undefined);
    this.#runs = hasScales || this.#isInPairs ? sums() : this.#totals;
    this.#below = tokens.layout.lanes === "split" ? sums() : [];
  }

  /** Whether sums of 16 bits start at what a bias takes from the codes: then nothing is left to take away. */
  get startsBiased(): boolean {
    return this.#isInPairs && this.#biasBits > 0;
  }

  /** The total of a token's half. */
  total(token: number, half: Half): V128 {
    return this.#totals[token]![half]!.value;
  }

  /** Adds to the total of a token's half. */
  addToTotal(token: number, half: Half, value: V128): void {
    this.#totals[token]![half]!.add(value);
  }

  /** Values of unit `index` of a token in all lanes: four bytes of `part` 0 or 1, or two times 16 bits. */
  #values(token: number, index: number, part = 0): V128 {
    const { lanes, negative } = this.#tokens.layout;
    return loadWord(this.#tokens, token, lanes === "wide" ? 8 * index + 4 * part : 4 * index + part * negative);
  }

  /** Adds the products of unit `index`, four elements of a run. */
  add(index: number, { codes, factor }: BlockWeights): void {
    const f = this.#f;
    const { count, layout } = this.#tokens;
    const { lanes, biases } = layout;
    const forEachToken = (visit: (token: number) => void): void => {
      for (let token = 0; token < count; token++) visit(token);
    };
    const vectors = this.#halves.map((half) => ({ half, parts: codes(index, half).map((part) => f.let(part)) }));
    if (lanes === "wide") {
      for (const part of [0, 1]) {
        forEachToken((t) => {
          const x = f.let(this.#values(t, index, part));
          for (const { half, parts } of vectors) this.#runs[t]![half]!.add(i32x4.dotI16x8(parts[part]!, x));
        });
      }
    } else if (this.#isInPairs) {
      const run = Math.floor(index / this.#unitsPerRun);
      for (const half of this.#halves) {
        if (this.#taken[half] === this.#pairLimit) this.#empty(half, factor(half, run));
        this.#taken[half]!++;
      }
      const isFirst = this.startsBiased && index % this.#unitsPerRun === 0;
      forEachToken((t) => {
        if (isFirst) {
          const bias = f.let(i16x8.shl(loadWord(this.#tokens, t, biases + 4 * run), this.#biasBits));
          for (const half of this.#halves) this.#runs[t]![half]!.add(bias);
        }
        const x = f.let(this.#values(t, index));
        for (const { half, parts } of vectors) this.#runs[t]![half]!.add(relaxed.dotI8x16I7x16(x, parts[0]!), i16x8.add);
      });
    } else if (lanes === "split") {
      for (const [part, sums] of [this.#runs, this.#below].entries()) {
        forEachToken((t) => {
          const x = f.let(this.#values(t, index, part));
          for (const { half, parts } of vectors) sums[t]![half]!.accumulate((sum) => relaxed.dotI8x16I7x16Add(parts[0]!, x, sum));
        });
      }
    } else {
      forEachToken((t) => {
        const x = f.let(this.#values(t, index));
        for (const { half, parts } of vectors) this.#runs[t]![half]!.accumulate((sum) => relaxed.dotI8x16I7x16Add(x, parts[0]!, sum));
      });
    }
  }

  /** Ends a run of a half: its sums, times its scale if it has one, go to the totals. */
  endRun(half: Half, factor: V128 | undefined): void {
    this.#below.forEach((below, t) => {
      // The sum of the run's own products is set before anything is taken from it.
      this.#runs[t]![half]!.accumulate((sum) => i32x4.sub(sum, below[half]!.value));
      below[half]!.clear();
    });
    if (this.#isInPairs) this.#empty(half, factor);
    else if (this.#hasScales) {
      const shared = this.#f.let(factor!);
      this.#runs.forEach((run, t) => {
        this.#totals[t]![half]!.add(i32x4.mul(run[half]!.value, shared));
        run[half]!.clear();
      });
    }
  }

  /** Starts the totals of a half anew. */
  clear(half: Half): void {
    for (const totals of this.#totals) totals[half]!.clear();
  }

  get #isInPairs(): boolean {
    return areInPairs(this.#target, this.#tokens.layout.lanes);
  }

  /** How many sums of two products fit into 16 bits; sums on the way may wrap around. */
  get #pairLimit(): number {
    const bias = this.startsBiased ? 2 ** this.#biasBits : 0;
    return Math.floor(32767 / (2 * 127 * Math.max(bias, this.#largestCode! - bias)));
  }

  #empty(half: Half, factor: V128 | undefined): void {
    const factors = factor === undefined ? this.#f.splatBits(0x00010001) : this.#f.let(factor);
    this.#runs.forEach((run, t) => {
      this.#totals[t]![half]!.add(i32x4.dotI16x8(run[half]!.value, factors));
      run[half]!.clear();
    });
    this.#taken[half] = 0;
  }
}
