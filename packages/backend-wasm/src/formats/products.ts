import { type FunctionBuilder, f32x4, i16x8, i32x4, type Local, relaxed, type V128, v128 } from "../emit/index.ts";
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
  readonly #biasBits: number;
  readonly #unitsPerRun: number;
  readonly #sums: readonly Sums[];
  readonly #runs: readonly Sums[];
  /** Products of the negative parts, where activations are split. */
  readonly #below: readonly Sums[];
  /** Vectors of activations by token and offset. */
  readonly #loaded = new Map<string, Local<"v128">>();
  /** Products of pairs that a 16-bit lane has taken so far. */
  readonly #taken = [0, 0];

  constructor(f: FunctionBuilder, target: Target, format: GroupFormat, tokens: Tokens, hasScales: boolean) {
    this.#f = f;
    this.#target = target;
    this.#tokens = tokens;
    this.#hasScales = hasScales;
    this.#largestCode = format.largestCode;
    this.#biasBits = format.biasBits ?? 0;
    this.#unitsPerRun = format.runElements / 4;
    this.#sums = tokens.blocks.map(() => new Sums(f));
    const hasRuns = hasScales || this.#isInPairs;
    this.#runs = hasRuns ? tokens.blocks.map(() => new Sums(f)) : this.#sums;
    this.#below = tokens.layout.lanes === "split" ? tokens.blocks.map(() => new Sums(f)) : [];
    this.totals = this.#sums.map(({ pair }) => pair);
  }

  /** The halves that are worked on together: with split activations four tokens with both need more registers than there are. */
  get passes(): readonly (readonly Half[])[] {
    return this.#below.length > 2 ? [[0], [1]] : [halves];
  }

  /** Whether sums of 16 bits start at what a bias takes from the codes: then nothing is left to take away. */
  get startsBiased(): boolean {
    return this.#isInPairs && this.#biasBits > 0;
  }

  /** Starts the totals at a value per token instead of zero. */
  begin(value: (token: Local<"i32">) => V128): void {
    this.#tokens.blocks.forEach((token, index) => {
      const start = this.#f.let(value(token));
      for (const half of halves) this.#sums[index]!.add(half, start);
    });
  }

  /** Values of unit `index` of a token in all lanes: four bytes of `part` 0 or 1, or two times 16 bits. */
  #values(token: number, index: number, part = 0): Local<"v128"> {
    const f = this.#f;
    const { lanes, isRepeated, negative } = this.#tokens.layout;
    if (isRepeated) return f.let(v128.load(this.#tokens.blocks[token]!, 16 * index + part * negative));
    const offset = lanes === "wide" ? 8 * index + 4 * part : 4 * index + part * negative;
    const start = offset & ~15;
    const key = `${token} ${start}`;
    let vector = this.#loaded.get(key);
    if (vector === undefined) {
      vector = f.let(v128.load(this.#tokens.blocks[token]!, start));
      this.#loaded.set(key, vector);
    }
    const lane = (offset & 15) / 4;
    return f.let(f32x4.shuffle(vector, vector, [lane, lane, lane, lane]));
  }

  /** Adds the products of unit `index`, four elements of a run, for some halves; `scale` where sums have to be emptied early. */
  add(index: number, codes: readonly { readonly half: Half; readonly bytes: V128 }[], scale: (half: Half) => RunScale | undefined): void {
    const f = this.#f;
    const { blocks, layout } = this.#tokens;
    const { lanes, biases } = layout;
    if (lanes === "wide") {
      const words = codes.map(({ half, bytes }) => ({ half, parts: this.#widen(bytes) }));
      for (const part of [0, 1] as const) {
        blocks.forEach((_, t) => {
          const x = this.#values(t, index, part);
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
      const isFirst = this.startsBiased && index % this.#unitsPerRun === 0;
      blocks.forEach((token, t) => {
        if (isFirst) {
          const run = index / this.#unitsPerRun;
          const bias = f.let(i16x8.shl(v128.load32Splat(token, biases + 4 * run), this.#biasBits));
          for (const { half } of codes) this.#runs[t]!.add(half, bias);
        }
        const x = this.#values(t, index);
        for (const { half, bytes } of vectors) this.#runs[t]!.add(half, relaxed.dotI8x16I7x16(x, bytes), i16x8.add);
      });
    } else if (lanes === "split") {
      for (const [part, sums] of [this.#runs, this.#below].entries()) {
        blocks.forEach((_, t) => {
          const x = this.#values(t, index, part);
          for (const { half, bytes } of vectors) sums[t]!.accumulate(half, (sum) => relaxed.dotI8x16I7x16Add(bytes, x, sum));
        });
      }
    } else {
      blocks.forEach((_, t) => {
        const x = this.#values(t, index);
        for (const { half, bytes } of vectors) this.#runs[t]!.accumulate(half, (sum) => relaxed.dotI8x16I7x16Add(x, bytes, sum));
      });
    }
  }

  /** Ends a run of a half: its sums, times its scales if it has some, go to the totals. */
  endRun(half: Half, scale: RunScale | undefined): void {
    const f = this.#f;
    this.#below.forEach((below, t) => {
      const run = this.#runs[t]!;
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

  /** How many sums of two products fit into 16 bits; sums on the way may wrap around. */
  get #pairLimit(): number {
    const bias = this.startsBiased ? 2 ** this.#biasBits : 0;
    return Math.floor(32767 / (2 * 127 * Math.max(bias, this.#largestCode! - bias)));
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

/** The scales of run `run`, byte `run % 4` of a word, for both kinds of sums; for pairs there is relaxed SIMD. */
export function runScale(f: FunctionBuilder, word: V128, run: number, areSigned: boolean): RunScale {
  const byte = run & 3;
  // The byte twice per word, and zeros: an index with the highest bit gives zero.
  const zero = 0x80;
  const twice = (parts: (at: number) => readonly number[]): V128 =>
    relaxed.swizzle(word, f.pooled(Uint8Array.from([0, 4, 8, 12].flatMap((row) => [...parts(row + byte), ...parts(row + byte)]))));
  return areSigned
    ? {
        quads: i32x4.shrS(i32x4.shl(word, 24 - 8 * byte), 24),
        pairs: i16x8.shrS(
          twice((at) => [zero, at]),
          8,
        ),
      }
    : { quads: v128.and(i32x4.shrU(word, 8 * byte), f.splatBits(255)), pairs: twice((at) => [at, zero]) };
}
