import type { QuantizedType } from "@centella/core/backend";
import { f32x4, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { clamped, codeOf, type FourBlocks, inverseOf, largestValue, nearestInt, type Vectors } from "./fourBlocks.ts";
import { affineScale, isTiny, levelIndex, levelScale, refinedScale, type ScaleSearch, symmetricScale } from "./searches.ts";

/** Emits the encoding of four blocks from `q.values`. For layouts and sources see @centella/quant, file by file. */
type Encoder = (q: FourBlocks) => void;

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

/** Packs 32 codes from vector `first` on as nibbles of 16 bytes. */
function packNibbles32(q: FourBlocks, at: number): void {
  const low = (place: Local<"i32">, more: number): V128 => v128.and(q.code(place, more), q.f.splatBits(15));
  q.each(16, (i) => q.byte(at, v128.or(low(i, 0), i32x4.shl(low(i, 16), 4)), i));
}

/** Packs the fifth bits of 32 codes as a mask. */
function packFifthBits(q: FourBlocks, at: number): void {
  const bits = q.f.let(q.f.splatBits(0));
  q.each(32, (i) => q.f.set(bits, v128.or(bits, i32x4.shl(i32x4.shrU(q.code(i), 4), i32.shrU(i, 4)))));
  q.word(at, bits);
}

/** Packs `count` bits, from bit `from` on, of codes `j`, `j + 32`, … (`each` of them) to byte `j` of 32. */
function packColumns(q: FourBlocks, at: number, first: number, from: number, count: number, each: number): void {
  const mask = q.f.splatBits((1 << count) - 1);
  q.each(32, (i) => {
    const parts = upTo(each).map((k) => i32x4.shl(v128.and(i32x4.shrU(q.code(i, first + 32 * k), from), mask), count * k));
    q.byte(at, parts.reduce(v128.or), i);
  });
}

function q8_0(q: FourBlocks): void {
  const { f, values } = q;
  const d = f.let(f32x4.div(f32x4.abs(largestValue(q, values, 32)), f.splat(127)));
  const inverse = inverseOf(f, 1, d);
  q.half(0, d);
  q.each(32, (i) => {
    // Rounds halves away from zero. A scale below the smallest normal number has no finite inverse, so codes are 0.
    const exact = f.let(f32x4.mul(values.load(i), inverse));
    const whole = f.let(f32x4.trunc(exact));
    const unit = v128.or(v128.and(exact, f.splatBits(0x80000000)), f.splat(1));
    const rest = f32x4.abs(f32x4.sub(exact, whole));
    const code = i32x4.truncSatF32x4S(f32x4.add(whole, v128.and(unit, f32x4.ge(rest, f.splat(0.5)))));
    q.byte(2, v128.and(code, f32x4.lt(f32x4.abs(exact), f.splat(256))), i);
  });
}

/** `floor(x)` clamped to 0 and `max`; keeps NaN. */
function floorCode(q: FourBlocks, x: V128, max: number): V128 {
  return f32x4.max(f32x4.min(f32x4.floor(x), q.f.splat(max)), q.f.splat(0));
}

/** q4_0, and q5_0 with its fifth bits at `fifth`: the scale is `largest / -max`. */
function plainSymmetric(max: number, at: number, fifth?: number): Encoder {
  return (q) => {
    const { f, values, codes } = q;
    const d = f.let(f32x4.div(largestValue(q, values, 32), f.splat(-max)));
    const inverse = inverseOf(f, 1, d);
    q.half(0, d);
    q.each(32, (i) => codes.store(i, floorCode(q, f32x4.add(f32x4.mul(values.load(i), inverse), f.splat(max + 0.5)), 2 * max - 1)));
    if (fifth !== undefined) packFifthBits(q, fifth);
    packNibbles32(q, at);
  };
}

/** q4_1, and q5_1 with its fifth bits at `fifth`: from the smallest value to the largest. */
function plainAffine(max: number, at: number, fifth?: number): Encoder {
  return (q) => {
    const { f, values, codes } = q;
    const low = f.let(values.load(0));
    const high = f.let(low);
    q.each(
      32,
      (i) => {
        f.set(low, f32x4.pmin(low, values.load(i)));
        f.set(high, f32x4.pmax(high, values.load(i)));
      },
      1,
    );
    const d = f.let(f32x4.div(f32x4.sub(high, low), f.splat(max)));
    const inverse = inverseOf(f, 1, d);
    q.half(0, d);
    q.half(2, low);
    q.each(32, (i) => {
      const exact = f32x4.add(f32x4.mul(f32x4.sub(values.load(i), low), inverse), f.splat(0.5));
      codes.store(i, floorCode(q, exact, max));
    });
    if (fifth !== undefined) packFifthBits(q, fifth);
    packNibbles32(q, at);
  };
}

/** Integer codes `[0, max]` proportional to `x [n]` ≥ 0. Returns the value of code 1. */
function proportionalCodes(q: FourBlocks, x: Vectors, n: number, max: number, to: Vectors): V128 {
  const { f } = q;
  const largest = f.let(f.splat(0));
  q.each(n, (i) => f.set(largest, f32x4.pmax(largest, x.load(i))));
  const inverse = inverseOf(f, max, largest);
  q.each(n, (i) => to.store(i, clamped(f, nearestInt(f, f32x4.mul(inverse, x.load(i))), 0, max)));
  return f32x4.div(largest, f.splat(max));
}

interface AffineFormat {
  readonly groupSize: 16 | 32;
  readonly max: number;
  readonly maxScale: number;
  readonly search: ScaleSearch;
  /** Indices of the two halves. */
  readonly d: number;
  readonly dmin: number;
}

/**
 * Scales, minima and codes of q2_K, q4_K and q5_K. Codes of scales and minima are in `q`. See kAffine.ts of
 * @centella/quant.
 */
function affineBlock(q: FourBlocks, { groupSize, max, maxScale, search, d: dAt, dmin: dminAt }: AffineFormat): void {
  const { f, values, codes, weights, scales, mins, scaleCodes, minCodes } = q;
  const groups = 256 / groupSize;
  q.each(groups, (group) => {
    const start = f.let(i32.mul(group, groupSize));
    const [x, to] = [values.from(start), codes.from(start)];
    if (groupSize === 16) q.each(16, (i) => weights.store(i, f32x4.abs(x.load(i))));
    else {
      const squares = f.let(f.splat(0));
      q.each(32, (i) => f.set(squares, f32x4.add(squares, f32x4.mul(x.load(i), x.load(i)))));
      const average = f.let(f32x4.sqrt(f32x4.div(squares, f.splat(32))));
      q.each(32, (i) => weights.store(i, f32x4.add(average, f32x4.abs(x.load(i)))));
    }
    const { scale, min } = affineScale(q, x, to, groupSize, max, search);
    scales.store(group, scale);
    mins.store(group, min);
  });
  const d = q.half(dAt, proportionalCodes(q, scales, groups, maxScale, scaleCodes));
  const dmin = q.half(dminAt, proportionalCodes(q, mins, groups, maxScale, minCodes));
  // Codes for the stored scales. A group whose scale became zero keeps the codes of its search.
  q.each(groups, (group) => {
    const start = f.let(i32.mul(group, groupSize));
    const [x, to] = [values.from(start), codes.from(start)];
    const scale = f.let(f32x4.mul(d, f32x4.fromI32x4(scaleCodes.load(group))));
    const min = f.let(f32x4.mul(dmin, f32x4.fromI32x4(minCodes.load(group))));
    const isKept = f.let(f32x4.eq(scale, f.splat(0)));
    q.each(groupSize, (i) => {
      const code = codeOf(f, f32x4.div(f32x4.add(x.load(i), min), scale), 0, max);
      to.store(i, v128.bitselect(isKept, to.load(i), code));
    });
  });
}

const tenth = Math.fround(0.1);

function q2_K(q: FourBlocks): void {
  const search = { first: -0.5, step: tenth, steps: 15, absolute: true };
  affineBlock(q, { groupSize: 16, max: 3, maxScale: 15, search, d: 80, dmin: 82 });
  q.each(16, (group) => q.byte(0, v128.or(q.scaleCodes.load(group), i32x4.shl(q.minCodes.load(group), 4)), group));
  for (const part of [0, 1]) packColumns(q, 16 + 32 * part, 128 * part, 0, 2, 4);
}

/** Writes the eight scales and minima of q4_K and q5_K at byte 4, see kScales.ts of @centella/quant. */
function packKScales(q: FourBlocks): void {
  const { f } = q;
  for (const j of upTo(4)) {
    const load = (codes: Vectors) => ({ low: f.let(codes.load(16 * j)), high: f.let(codes.load(16 * (j + 4))) });
    const [scale, minimum] = [load(q.scaleCodes), load(q.minCodes)];
    const withTop = ({ low, high }: typeof scale): V128 => v128.or(low, i32x4.shl(i32x4.shrU(high, 4), 6));
    q.byte(4 + j, withTop(scale));
    q.byte(8 + j, withTop(minimum));
    q.byte(12 + j, v128.or(v128.and(scale.high, f.splatBits(15)), i32x4.shl(v128.and(minimum.high, f.splatBits(15)), 4)));
  }
}

function q4_K(q: FourBlocks): void {
  const search = { first: -1, step: tenth, steps: 20, absolute: false };
  affineBlock(q, { groupSize: 32, max: 15, maxScale: 63, search, d: 0, dmin: 2 });
  packKScales(q);
  for (const part of upTo(4)) packColumns(q, 16 + 32 * part, 64 * part, 0, 4, 2);
}

function q5_K(q: FourBlocks): void {
  const search = { first: -0.5, step: tenth, steps: 15, absolute: false };
  affineBlock(q, { groupSize: 32, max: 31, maxScale: 63, search, d: 0, dmin: 2 });
  packKScales(q);
  packColumns(q, 16, 0, 4, 1, 8);
  for (const part of upTo(4)) packColumns(q, 48 + 32 * part, 64 * part, 0, 4, 2);
}

/**
 * Codes of 256 values for the stored scales, from 0 to `2 * max - 1`; before they started at `-max`. A group whose
 * scale is zero keeps its codes.
 */
function recode(q: FourBlocks, d: V128, max: number): void {
  const { f, values, codes } = q;
  q.each(16, (group) => {
    const start = f.let(i32.shl(group, 4));
    const [x, to] = [values.from(start), codes.from(start)];
    const scale = f.let(f32x4.mul(d, f32x4.fromI32x4(q.scaleCodes.load(group))));
    const isKept = f.let(f32x4.eq(scale, f.splat(0)));
    q.each(16, (i) => {
      const code = codeOf(f, f32x4.div(x.load(i), scale), -max, max - 1);
      to.store(i, f32x4.add(v128.bitselect(isKept, to.load(i), code), f.splat(max)));
    });
  });
}

/** Finds a scale for each 16 values with `search`. */
function groupScales(q: FourBlocks, max: number, search: typeof symmetricScale): void {
  q.each(16, (group) => {
    const start = q.f.let(i32.shl(group, 4));
    q.scales.store(group, search(q, q.values.from(start), q.codes.from(start), max));
  });
}

function q3_K(q: FourBlocks): void {
  const { f } = q;
  groupScales(q, 4, refinedScale);
  const largest = largestValue(q, q.scales, 16);
  const isZero = f.let(f32x4.eq(largest, f.splat(0)));
  const inverse = f.let(f32x4.div(f.splat(-32), largest));
  q.each(16, (group) => {
    const code = clamped(f, nearestInt(f, f32x4.mul(inverse, q.scales.load(group))), -32, 31);
    q.scaleCodes.store(group, v128.bitselect(isZero, f.splatBits(-32), code));
  });
  recode(q, q.half(108, v128.andnot(f32x4.div(f.splat(1), inverse), isZero)), 4);
  packColumns(q, 0, 0, 2, 1, 8);
  for (const part of [0, 1]) packColumns(q, 32 + 32 * part, 128 * part, 0, 2, 4);
  const scale = (group: number): V128 => i32x4.add(q.scaleCodes.load(16 * group), f.splatBits(32));
  for (const j of upTo(8)) {
    q.byte(96 + j, v128.or(v128.and(scale(j), f.splatBits(15)), i32x4.shl(v128.and(scale(j + 8), f.splatBits(15)), 4)));
  }
  for (const j of upTo(4)) {
    q.byte(
      104 + j,
      upTo(4)
        .map((k) => i32x4.shl(i32x4.shrU(scale(j + 4 * k), 4), 2 * k))
        .reduce(v128.or),
    );
  }
}

function q6_K(q: FourBlocks): void {
  const { f, codes } = q;
  groupScales(q, 32, symmetricScale);
  const largest = largestValue(q, q.scales, 16);
  const isZero = isTiny(q, largest);
  const inverse = f.let(f32x4.div(f.splat(-128), largest));
  const d = q.half(208, v128.andnot(f32x4.div(f.splat(1), inverse), isZero));
  q.each(16, (group) => {
    const code = clamped(f, nearestInt(f, f32x4.mul(inverse, q.scales.load(group))), -128, 127);
    q.scaleCodes.store(group, v128.andnot(code, isZero));
    q.byte(192, q.scaleCodes.load(group), group);
  });
  recode(q, d, 32);
  q.each(256, (i) => codes.store(i, v128.andnot(codes.load(i), isZero)));
  for (const part of [0, 1]) {
    const first = 128 * part;
    const nibble = (i: Local<"i32">, quarter: number): V128 => v128.and(q.code(i, first + 32 * quarter), f.splatBits(15));
    for (const half of [0, 1]) {
      q.each(32, (i) => q.byte(64 * part + 32 * half, v128.or(nibble(i, half), i32x4.shl(nibble(i, half + 2), 4)), i));
    }
    packColumns(q, 128 + 32 * part, first, 4, 2, 4);
  }
}

/** Writes the 32 values of `x` as iq4_nl levels of a scale. */
function packLevels(q: FourBlocks, x: Vectors, scale: Local<"v128">, index: (place: Local<"i32">, nibbles: V128) => void): void {
  const inverse = inverseOf(q.f, 1, scale);
  const level = (i: Local<"i32">, more: number): V128 => levelIndex(q, f32x4.mul(inverse, x.load(i, more)));
  q.each(16, (i) => index(i, v128.or(level(i, 0), i32x4.shl(level(i, 16), 4))));
}

function iq4_nl(q: FourBlocks): void {
  const scale = q.f.let(levelScale(q, q.values));
  q.half(0, scale);
  packLevels(q, q.values, scale, (i, nibbles) => q.byte(2, nibbles, i));
}

function iq4_xs(q: FourBlocks): void {
  const { f, values, scales, scaleCodes } = q;
  q.each(8, (group) => scales.store(group, levelScale(q, values.from(f.let(i32.shl(group, 5))))));
  // Where it divides the group scales, their common scale is not rounded to f16.
  const d = f.let(f32x4.div(f32x4.neg(largestValue(q, scales, 8)), f.splat(32)));
  const inverse = inverseOf(f, 1, d);
  q.half(0, d);
  q.each(8, (group) => {
    const code = f.let(clamped(f, nearestInt(f, f32x4.mul(inverse, scales.load(group))), -32, 31));
    scaleCodes.store(group, i32x4.add(code, f.splatBits(32)));
    const scale = f.let(f32x4.mul(d, f32x4.fromI32x4(code)));
    packLevels(q, values.from(f.let(i32.shl(group, 5))), scale, (i, nibbles) => q.byte(8, nibbles, i32.add(i32.shl(group, 4), i)));
  });
  const high = upTo(8).map((group) => i32x4.shl(i32x4.shrU(scaleCodes.load(16 * group), 4), 2 * group));
  for (const part of [0, 1]) q.byte(2 + part, i32x4.shrU(f.let(high.reduce(v128.or)), 8 * part));
  const low = (group: number): V128 => v128.and(scaleCodes.load(16 * group), f.splatBits(15));
  for (const j of upTo(4)) q.byte(4 + j, v128.or(low(2 * j), i32x4.shl(low(2 * j + 1), 4)));
}

/** Encoders by block type. */
export const encoders: Readonly<Record<QuantizedType, Encoder>> = {
  q8_0,
  q4_0: plainSymmetric(8, 2),
  q4_1: plainAffine(15, 4),
  q5_0: plainSymmetric(16, 6, 2),
  q5_1: plainAffine(31, 8, 4),
  q2_K,
  q3_K,
  q4_K,
  q5_K,
  q6_K,
  iq4_nl,
  iq4_xs,
};
