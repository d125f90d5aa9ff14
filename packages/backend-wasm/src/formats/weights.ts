import { type FunctionBuilder, f32x4, i16x8, i32x4, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import type { Lanes } from "./activations.ts";
import { type Half, halves, type Quad } from "./block.ts";
import type { BlockContext, GroupFormat, RunBytes } from "./format.ts";

/** Operands from a block of one or two groups of eight interleaved rows: see {@link GroupFormat}. */
export interface BlockWeights {
  /** Codes of unit `unit` for dot products: bytes, or bytes 0 and 2 and then 1 and 3 of each four as 16 bits. */
  codes(unit: number, quad: Quad): readonly V128[];
  d(quad: Quad, run: number): V128;
  /** The integer scale of a run, as a factor of the run's sums; undefined for formats without. */
  factor(quad: Quad, run: number): V128 | undefined;
  /** All integer scales as pairs of 16 bits, in the order of the sums in activations. */
  scalePairs(quad: Quad): readonly V128[];
  m(quad: Quad): V128;
  minusDmin(quad: Quad): V128;
  minimumPairs(quad: Quad): readonly V128[];
}

/** Whether sums of products are temporarily 16 bits wide. */
export function areInPairs({ dots }: Target, lanes: Lanes): boolean {
  return dots === "pairs" && lanes === "bytes";
}

/** Units of a format in the best order to read them, run by run. */
export function unitsOf({ elements, runElements, unitOrder }: GroupFormat): readonly (readonly number[])[] {
  const perRun = runElements / 4;
  return Array.from({ length: elements / runElements }, (_, run) =>
    Array.from({ length: perRun }, (_, place) => run * perRun + (unitOrder?.[place] ?? place)),
  );
}

/** Weights that are computed when they are needed. */
export function blockWeights(context: BlockContext, format: GroupFormat, lanes: Lanes): BlockWeights {
  return weightsOfGroups([context], format, lanes);
}

/** {@link blockWeights} of several groups. */
function weightsOfGroups(contexts: readonly BlockContext[], format: GroupFormat, lanes: Lanes): BlockWeights {
  const { f, target } = contexts[0]!;
  const isWide = lanes === "wide";
  const scales = contexts.map(() => halves.map(() => undefined as RunBytes | undefined));
  const place = (quad: Quad): readonly [BlockContext, Half] => [contexts[quad >> 1]!, (quad & 1) as Half];
  const scalesOf = (quad: Quad): RunBytes => {
    const [context, half] = place(quad);
    const own = scales[quad >> 1]!;
    own[half] ??= format.scales!(context, half);
    return own[half];
  };
  return {
    codes(unit, quad) {
      const [context, half] = place(quad);
      const bytes = format.codes(context, unit, half);
      return isWide ? widened(f, format, bytes) : [bytes];
    },
    d: (quad, run) => format.d(...place(quad), run),
    factor(quad, run) {
      if (format.scales === undefined) return undefined;
      const { words, areSigned } = scalesOf(quad);
      const word = words[run >> 2]!;
      return areInPairs(target, lanes) ? pairedScale(f, word, run, areSigned) : scale(f, word, run, areSigned);
    },
    scalePairs: (quad) => wordPairs(f, scalesOf(quad)),
    m: (quad) => format.m!(...place(quad)),
    minusDmin: (quad) => f32x4.neg(format.minima!.dmin(...place(quad))),
    minimumPairs: (quad) => wordPairs(f, format.minima!.bytes(...place(quad))),
  };
}

/** Bytes 0 and 2, and bytes 1 and 3, of each four bytes as 16 bits. */
function widened(f: FunctionBuilder, { largestCode }: GroupFormat, bytes: V128): readonly V128[] {
  const value = f.let(bytes);
  if (largestCode === undefined) return [i16x8.shrS(i16x8.shl(value, 8), 8), i16x8.shrS(value, 8)];
  return [v128.and(value, f.splatBits(0x00ff00ff)), i16x8.shrU(value, 8)];
}

/** Byte `run % 4` of each word as 32 bits. */
function scale(f: FunctionBuilder, word: V128, run: number, areSigned: boolean): V128 {
  const byte = run & 3;
  return areSigned ? i32x4.shrS(i32x4.shl(word, 24 - 8 * byte), 24) : v128.and(i32x4.shrU(word, 8 * byte), f.splatBits(255));
}

/** Byte `run % 4` of each word twice, as 16 bits. Relaxed SIMD multiplies pairs. */
function pairedScale(f: FunctionBuilder, word: V128, run: number, areSigned: boolean): V128 {
  const byte = run & 3;
  // An index with the highest bit set gives zero.
  const zero = 0x80;
  const twice = (parts: (at: number) => readonly number[]): V128 =>
    relaxed.swizzle(word, f.pooled(Uint8Array.from([0, 4, 8, 12].flatMap((row) => [...parts(row + byte), ...parts(row + byte)]))));
  if (!areSigned) return twice((at) => [at, zero]);
  return i16x8.shrS(
    twice((at) => [zero, at]),
    8,
  );
}

/** Bytes of runs as pairs of 16 bits, in the order of a layout's sums. */
function wordPairs(f: FunctionBuilder, { words, areSigned }: RunBytes): readonly V128[] {
  return words.flatMap((word) =>
    areSigned ? [i16x8.shrS(i16x8.shl(word, 8), 8), i16x8.shrS(word, 8)] : [v128.and(word, f.splatBits(0x00ff00ff)), i16x8.shrU(word, 8)],
  );
}
