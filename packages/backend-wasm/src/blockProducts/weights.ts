import { elementAt } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i16x8, i32x4, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Half, Quad } from "../formats/block.ts";
import type { BlockContext, GroupFormat, RunBytes } from "../formats/format.ts";
import type { Target } from "../target.ts";
import type { Lanes } from "./activations.ts";

/** Codes as bytes in one vector, or as 16 bits in two: bytes 0 and 2, then 1 and 3, of each four. */
export type Codes = readonly [V128] | readonly [V128, V128];

/** Operands from a block of one or two groups of eight interleaved rows: see {@link GroupFormat}. */
export interface BlockWeights {
  /** Codes of unit `unit` for dot products. */
  codes(unit: number, quad: Quad): Codes;
  d(quad: Quad, run: number): V128;
  /** Integer scales, if the format has them. */
  readonly scales: RunScales | undefined;
  /** What is added to every weight, if the format has it. */
  readonly m: ((quad: Quad) => V128) | undefined;
  /** Integer minima, if the format has them. */
  readonly minima: RunMinima | undefined;
}

interface RunScales {
  /** The scale of a run, as a factor of the run's sums. */
  factor(quad: Quad, run: number): V128;
  /** All scales as pairs of 16 bits, in the order of the sums in activations. */
  pairs(quad: Quad): readonly V128[];
}

interface RunMinima {
  minusDmin(quad: Quad): V128;
  /** All minima as pairs of 16 bits, in the order of the sums in activations. */
  pairs(quad: Quad): readonly V128[];
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

/** Weights of a group that are computed when they are needed. */
export function blockWeights(context: BlockContext, format: GroupFormat, lanes: Lanes): BlockWeights {
  const { f } = context;
  const { m, minima } = format;
  const isWide = lanes === "wide";
  return {
    codes(unit, quad) {
      const bytes = format.codes(context, unit, halfOf(quad));
      return isWide ? widened(f, format, bytes) : [bytes];
    },
    d: (quad, run) => format.d(context, halfOf(quad), run),
    scales: runScales(context, format, lanes),
    m: m && ((quad) => m(context, halfOf(quad))),
    minima: minima && {
      minusDmin: (quad) => f32x4.neg(minima.dmin(context, halfOf(quad))),
      pairs: (quad) => wordPairs(f, minima.bytes(context, halfOf(quad))),
    },
  };
}

/** The half of its group that a quad is. */
function halfOf(quad: Quad): Half {
  return quad === 0 || quad === 2 ? 0 : 1;
}

function runScales(context: BlockContext, { scales }: GroupFormat, lanes: Lanes): RunScales | undefined {
  if (scales === undefined) return undefined;
  const { f, target } = context;
  const known = new Map<Half, RunBytes>();
  const bytesOf = (quad: Quad): RunBytes => {
    const half = halfOf(quad);
    const bytes = known.get(half) ?? scales(context, half);
    known.set(half, bytes);
    return bytes;
  };
  return {
    factor(quad, run) {
      const { words, areSigned } = bytesOf(quad);
      const word = elementAt(words, run >> 2);
      return areInPairs(target, lanes) ? pairedScale(f, word, run, areSigned) : scale(f, word, run, areSigned);
    },
    pairs: (quad) => wordPairs(f, bytesOf(quad)),
  };
}

/** Bytes 0 and 2, and bytes 1 and 3, of each four bytes as 16 bits. */
function widened(f: FunctionBuilder, { largestCode }: GroupFormat, bytes: V128): Codes {
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
