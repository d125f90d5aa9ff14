import { type FunctionBuilder, i8x16, i16x8, i32x4, type Local, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import type { ActivationLayout } from "./activations.ts";
import { type Half, halves, type Pair } from "./block.ts";
import type { GroupFormat } from "./format.ts";

/** Activation blocks of some tokens. */
export interface Tokens {
  readonly layout: ActivationLayout;
  readonly blocks: readonly Local<"i32">[];
}

/** Two vectors that are written in turn: the first write sets, the others add. */
class Sums {
  readonly pair: Pair;
  readonly #f: FunctionBuilder;
  readonly #isSet = [false, false];

  constructor(f: FunctionBuilder) {
    this.#f = f;
    this.pair = [f.local("v128"), f.local("v128")];
  }

  /** Sets or adds by an instruction that takes the sum so far. */
  accumulate(half: Half, add: (sum: V128) => V128): void {
    this.#f.set(this.pair[half], add(this.#isSet[half] ? this.pair[half] : v128.zero()));
    this.#isSet[half] = true;
  }

  /** Sets or adds, by `add`, what has been computed. */
  add(half: Half, value: V128, add: (a: V128, b: V128) => V128 = i32x4.add): void {
    this.#f.set(this.pair[half], this.#isSet[half] ? add(this.pair[half], value) : value);
    this.#isSet[half] = true;
  }

  /** The next write sets. */
  clear(half: Half): void {
    this.#isSet[half] = false;
  }
}

/** Multiplies 32-bit sums by the integer scales of a run; `pairs` has each scale twice, in 16 bits. */
export interface RunScale {
  readonly quads: V128;
  readonly pairs: V128;
}

/**
 * Emits the integer products of codes with the activations of some tokens, in the way that the target likes: totals per token and half,
 * each run multiplied by its scales. All sums are exact.
 */
export class Products {
  /** Totals of rows 0 to 3 and 4 to 7, per token. */
  readonly totals: readonly Pair[];
  readonly #f: FunctionBuilder;
  readonly #target: Target;
  readonly #tokens: Tokens;
  readonly #hasScales: boolean;
  readonly #largestCode: number | undefined;
  readonly #sums: readonly Sums[];
  readonly #runs: readonly Sums[];
  /** Products of the negative parts, where activations are split. */
  readonly #below: readonly Sums[];
  readonly #x: Local<"v128">;
  /** Products of pairs that a 16-bit lane has taken so far. */
  readonly #taken = [0, 0];

  constructor(f: FunctionBuilder, target: Target, format: GroupFormat, tokens: Tokens, hasScales: boolean) {
    this.#f = f;
    this.#target = target;
    this.#tokens = tokens;
    this.#hasScales = hasScales;
    this.#largestCode = format.largestCode;
    this.#sums = tokens.blocks.map(() => new Sums(f));
    const hasRuns = hasScales || this.#isInPairs;
    this.#runs = hasRuns ? tokens.blocks.map(() => new Sums(f)) : this.#sums;
    this.#below = tokens.layout.lanes === "split" ? tokens.blocks.map(() => new Sums(f)) : [];
    this.#x = f.local("v128");
    this.totals = this.#sums.map(({ pair }) => pair);
  }

  /** The halves that are worked on together: with split activations four tokens with both need more registers than there are. */
  get passes(): readonly (readonly Half[])[] {
    return this.#below.length > 2 ? [[0], [1]] : [halves];
  }

  /** Starts a half's totals at a value per token instead of zero. */
  begin(half: Half, value: (token: Local<"i32">) => V128): void {
    this.#tokens.blocks.forEach((token, index) => void this.#sums[index]!.add(half, value(token)));
  }

  /** Adds the products of unit `index`, four elements of a run, for some halves; `scale` where sums have to be emptied early. */
  add(index: number, codes: readonly { readonly half: Half; readonly bytes: V128 }[], scale: (half: Half) => RunScale | undefined): void {
    const [f, x] = [this.#f, this.#x];
    const { lanes, negative } = this.#tokens.layout;
    const { blocks } = this.#tokens;
    if (lanes === "wide") {
      const words = codes.map(({ half, bytes }) => ({ half, parts: this.#widen(bytes) }));
      for (const part of [0, 1] as const) {
        blocks.forEach((token, t) => {
          f.set(x, v128.load32Splat(token, 8 * index + 4 * part));
          for (const { half, parts } of words) this.#runs[t]!.add(half, i32x4.dotI16x8(parts[part], x));
        });
      }
      return;
    }
    const vectors = codes.map(({ half, bytes }) => ({ half, bytes: f.let(bytes) }));
    if (this.#isInPairs) {
      for (const { half } of codes) {
        if (this.#taken[half] === this.#pairLimit) this.#empty(half, scale(half));
        this.#taken[half]!++;
      }
      blocks.forEach((token, t) => {
        f.set(x, v128.load32Splat(token, 4 * index));
        for (const { half, bytes } of vectors) this.#runs[t]!.add(half, relaxed.dotI8x16I7x16(x, bytes), i16x8.add);
      });
    } else if (lanes === "split") {
      for (const [sums, offset] of [[this.#runs, 0] as const, [this.#below, negative] as const]) {
        blocks.forEach((token, t) => {
          f.set(x, v128.load32Splat(token, offset + 4 * index));
          for (const { half, bytes } of vectors) sums[t]!.accumulate(half, (sum) => relaxed.dotI8x16I7x16Add(bytes, x, sum));
        });
      }
    } else {
      blocks.forEach((token, t) => {
        f.set(x, v128.load32Splat(token, 4 * index));
        for (const { half, bytes } of vectors) this.#runs[t]!.accumulate(half, (sum) => relaxed.dotI8x16I7x16Add(x, bytes, sum));
      });
    }
  }

  /** Ends a run of a half: its sums, times its scales if it has some, go to the totals. */
  endRun(half: Half, scale: RunScale | undefined): void {
    const f = this.#f;
    this.#below.forEach((below, t) => {
      const [run] = [this.#runs[t]!];
      f.set(run.pair[half], i32x4.sub(run.pair[half], below.pair[half]));
      below.clear(half);
    });
    if (this.#isInPairs) this.#empty(half, scale);
    else if (this.#hasScales) {
      this.#runs.forEach((run, t) => {
        this.#sums[t]!.add(half, i32x4.mul(run.pair[half], scale!.quads));
        run.clear(half);
      });
    }
  }

  /** Starts the totals of a half anew. */
  clear(half: Half): void {
    for (const sums of this.#sums) sums.clear(half);
  }

  get #isInPairs(): boolean {
    return this.#target.dots === "pairs" && this.#tokens.layout.lanes === "bytes";
  }

  /** How many sums of two products fit into 16 bits. */
  get #pairLimit(): number {
    return Math.floor(32767 / (2 * 128 * this.#largestCode!));
  }

  #empty(half: Half, scale: RunScale | undefined): void {
    const factors = scale?.pairs ?? this.#f.splatBits(0x00010001);
    this.#runs.forEach((run, t) => {
      this.#sums[t]!.add(half, i32x4.dotI16x8(run.pair[half], factors));
      run.clear(half);
    });
    this.#taken[half] = 0;
  }

  /** Bytes 0 and 2, and bytes 1 and 3, of each four bytes as 16 bits. */
  #widen(bytes: V128): readonly [Local<"v128">, Local<"v128">] {
    const f = this.#f;
    const value = f.let(bytes);
    if (this.#largestCode === undefined) return [f.let(i16x8.shrS(i16x8.shl(value, 8), 8)), f.let(i16x8.shrS(value, 8))];
    return [f.let(v128.and(value, f.splatBits(0x00ff00ff))), f.let(i16x8.shrU(value, 8))];
  }
}

/** The scales of run `run`, byte `run % 4` of a word, for both kinds of sums. */
export function runScale(f: FunctionBuilder, word: V128, run: number, areSigned: boolean): RunScale {
  const byte = run & 3;
  const low = i32x4.shrU(word, 8 * byte);
  const places = (parts: readonly [number, number]): readonly number[] =>
    [0, 4, 8, 12].flatMap((row) => [...parts, ...parts].map((at) => (at < 16 ? at + row : at)));
  return areSigned
    ? {
        quads: i32x4.shrS(i32x4.shl(word, 24 - 8 * byte), 24),
        pairs: i16x8.shrS(i8x16.shuffle(word, v128.zero(), places([16, byte])), 8),
      }
    : { quads: v128.and(low, f.splatBits(255)), pairs: i8x16.shuffle(word, v128.zero(), places([byte, 16])) };
}
