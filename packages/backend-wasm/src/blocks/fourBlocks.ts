import { type Expr, type FunctionBuilder, f32x4, type I32, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { toHalves, widenHalves } from "../formats/half.ts";

/** Consecutive vectors in memory, addressed by byte offsets. */
export class Vectors {
  readonly #f: FunctionBuilder;
  readonly #base: Local<"i32">;
  readonly #offset: number;

  constructor(f: FunctionBuilder, base: Local<"i32">, first: number) {
    this.#f = f;
    this.#base = base;
    this.#offset = 16 * first;
  }

  /** Loads vector `more` after the one at `place`. */
  load(place: I32, more = 0): V128 {
    return v128.load(i32.add(this.#base, place), this.#offset + 16 * more);
  }

  store(place: I32, value: V128): void {
    this.#f.store(i32.add(this.#base, place), value, this.#offset);
  }

  /** The vectors from `place` on. */
  from(place: I32): Vectors {
    return new Vectors(this.#f, this.#f.let(i32.add(this.#base, place)), this.#offset / 16);
  }
}

/**
 * Four blocks that are encoded together, one in each lane. Operations and rounding follow ggml's order for one block,
 * so the bytes are the same.
 */
export class FourBlocks {
  readonly f: FunctionBuilder;
  /** The values of the blocks. */
  readonly values: Vectors;
  /** Codes as f32. */
  readonly codes: Vectors;
  /** For one group of up to 32: trial codes, values minus their minimum, weights of errors. */
  readonly trial: Vectors;
  readonly shifted: Vectors;
  readonly weights: Vectors;
  /** For up to 16 groups: scales and minima, and their codes as integers. */
  readonly scales: Vectors;
  readonly mins: Vectors;
  readonly scaleCodes: Vectors;
  readonly minCodes: Vectors;
  readonly #to: readonly Local<"i32">[];
  readonly #isOdd: V128;

  /** `isOdd` marks lanes with values that are not finite. */
  constructor(f: FunctionBuilder, scratch: Local<"i32">, to: readonly Local<"i32">[], isOdd: V128) {
    this.f = f;
    let first = 0;
    const vectors = (count: number): Vectors => {
      first += count;
      return new Vectors(f, scratch, first - count);
    };
    this.values = vectors(256);
    this.codes = vectors(256);
    this.trial = vectors(32);
    this.shifted = vectors(32);
    this.weights = vectors(32);
    this.scales = vectors(16);
    this.mins = vectors(16);
    this.scaleCodes = vectors(16);
    this.minCodes = vectors(16);
    this.#to = to;
    this.#isOdd = isOdd;
  }

  /** Visits vectors `first` to `count`. `place` is for {@link Vectors}. */
  each(count: number, body: (place: Local<"i32">) => void, first = 0): void {
    const place = this.f.local("i32");
    this.f.for(place, 16 * first, 16 * count, 16, () => body(place));
  }

  /** A code as an integer. */
  code(place: I32, more = 0): V128 {
    return i32x4.truncSatF32x4S(this.codes.load(place, more));
  }

  /** Writes a byte of each block at `at`, plus the number of vectors before `place`. */
  byte(at: number, value: V128, place?: Expr<"i32">): void {
    const { f } = this;
    const bytes = f.let(value);
    const index = place && f.let(i32.shrU(place, 4));
    for (const [lane, to] of this.#to.entries()) f.store8Lane(index === undefined ? to : i32.add(to, index), bytes, 4 * lane, at);
  }

  /** Writes 32 bits of each block. */
  word(at: number, value: V128): void {
    const words = this.f.let(value);
    for (const [lane, to] of this.#to.entries()) this.f.store32Lane(to, words, lane, at);
  }

  /** Writes a scale as f16 and returns its rounded value. It is NaN if a value of the block is not finite. */
  half(at: number, value: V128): Local<"v128"> {
    const { f } = this;
    const halves = f.let(v128.bitselect(this.#isOdd, f.splatBits(0x7e00), toHalves(f, value)));
    for (const [lane, to] of this.#to.entries()) f.store16Lane(to, halves, 2 * lane, at);
    return widenHalves(f, halves);
  }
}

/** Bytes of the vectors of {@link FourBlocks}. */
export const fourBlocksBytes: number = 16 * (2 * 256 + 3 * 32 + 4 * 16);

/**
 * Nearest integers as in ggml's searches (`nearest_int` of ggml-quants.c): the mantissa of `x + 1.5 * 2^23`. Beyond
 * 2^22 this does not round, but the result determines the bytes.
 */
export function nearestInt(f: FunctionBuilder, x: V128): V128 {
  return i32x4.sub(v128.and(f32x4.add(x, f.splat(12582912)), f.splatBits(0x7fffff)), f.splatBits(0x400000));
}

/** {@link nearestInt} from `low` to `high`, as f32. */
export function codeOf(f: FunctionBuilder, x: V128, low: number, high: number): V128 {
  return f32x4.fromI32x4(clamped(f, nearestInt(f, x), low, high));
}

/** Clamps integers to `low` and `high`. */
export function clamped(f: FunctionBuilder, x: V128, low: number, high: number): V128 {
  return i32x4.minS(i32x4.maxS(x, f.splatBits(low)), f.splatBits(high));
}

/** `n / x`, or 0 if `x` is 0. */
export function inverseOf(f: FunctionBuilder, n: number, x: Local<"v128">): Local<"v128"> {
  return f.let(v128.andnot(f32x4.div(f.splat(n), x), f32x4.eq(x, v128.zero())));
}

/** The first value of the largest magnitude, with its sign; 0 if all are 0. */
export function largestValue(q: FourBlocks, x: Vectors, n: number): Local<"v128"> {
  const { f } = q;
  const largest = f.let(f.splat(0));
  q.each(n, (i) => {
    const value = f.let(x.load(i));
    f.set(largest, v128.bitselect(f32x4.gt(f32x4.abs(value), f32x4.abs(largest)), value, largest));
  });
  return largest;
}
