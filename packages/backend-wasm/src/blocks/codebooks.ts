import { mapTuple } from "@centella/core/backend";
import { type Expr, f32x4, i8x16, i32, type V128, v128 } from "../emit/index.ts";
import type { Block } from "./block.ts";

/**
 * Types whose weights are points of a codebook, 8 or 4 at a time. For layouts and sources see @centella/quant, file by
 * file.
 */

type Index = Expr<"i32">;

const runs = Array.from({ length: 16 }, (_, run) => run);

/** Two points of 8 weights. */
function points8(block: Block, points: readonly [Index, Index]): V128 {
  const [first, second] = mapTuple(points, (point) => v128.load64Zero(i32.add(block.grid, i32.shl(point, 3))));
  return f32x4.shuffle(first, second, [0, 1, 4, 5]);
}

/** Four points of 4 weights. */
function points4(block: Block, points: readonly Index[]): V128 {
  return points.reduce<V128>(
    (into, point, lane) => v128.load32Lane(i32.add(block.grid, i32.shl(point, 2)), into, lane),
    block.f.splatBits(0),
  );
}

/** Negates the codes whose bit of `signs` is set. */
function signedBy(block: Block, codes: V128, signs: Index): V128 {
  const mask = block.mask(signs);
  return i8x16.sub(v128.xor(codes, mask), mask);
}

/** Eight signs from 7 bits: the number of minus signs is even. `ksigns_iq2xs` of ggml-common.h. */
function evenSigns(block: Block, packed: Index, shift: number): Index {
  const { f } = block;
  const bits = f.let(i32.and(i32.shrU(packed, shift), 127));
  const parity = f.let(i32.xor(bits, i32.shrU(bits, 4)));
  f.set(parity, i32.xor(parity, i32.shrU(parity, 2)));
  f.set(parity, i32.and(i32.xor(parity, i32.shrU(parity, 1)), 1));
  return i32.or(bits, i32.shl(parity, 7));
}

/** Signs of 16 weights from two 7-bit numbers, at bit `shift`. */
function evenSigns16(block: Block, first: Index, firstShift: number, second: Index, secondShift: number): Index {
  return i32.or(evenSigns(block, first, firstShift), i32.shl(evenSigns(block, second, secondShift), 8));
}

/** `count` bits of `value` from bit `from`, as high bits of an index whose low bits are `low`. */
function withHigh(low: Index, lowBits: number, value: Index, from: number, count: number): Index {
  return i32.or(low, i32.shl(i32.and(i32.shrU(value, from), (1 << count) - 1), lowBits));
}

/** `scale * (n + 1/2) * by`, with `by` a power of two. */
function halfStep(block: Block, scale: V128, n: Index, by: number): V128 {
  return block.f.let(f32x4.mul(block.times(scale, i32.add(i32.shl(n, 1), 1)), block.f.splat(by / 2)));
}

/** Ternary points, shifted by an eighth up or down, with codes in eighths. `areDown` is per point. */
function shiftedPoints(block: Block, points: readonly [Index, Index], areDown: readonly [Index, Index]): V128 {
  const { f } = block;
  const eighths = f.let(points8(block, points));
  for (let i = 0; i < 3; i++) f.set(eighths, i8x16.add(eighths, eighths));
  const [first, second] = mapTuple(areDown, (isDown) => i8x16.splat(i32.sub(1, i32.shl(isDown, 1))));
  return i8x16.add(eighths, f32x4.shuffle(first, second, [0, 1, 4, 5]));
}

export function iq1_s(block: Block): void {
  const d = block.half(0);
  for (const run of runs) {
    const high = block.short(34 + 2 * (run >> 1));
    const point = (part: number): Index => withHigh(block.byte(2 + part), 8, high, 3 * (part & 3), 3);
    const isDown = i32.shrU(high, 15);
    const scale = i32.and(i32.shrU(high, 12), 7);
    const codes = shiftedPoints(block, [point(2 * run), point(2 * run + 1)], [isDown, isDown]);
    block.write(run, codes, halfStep(block, d, scale, 1 / 4));
  }
}

export function iq1_m(block: Block): void {
  const { f } = block;
  // The top nibbles of the four scale words form the f16.
  const nibble = (k: number): Index => i32.shl(i32.shrU(block.byte(49 + 2 * k), 4), 4 * k);
  const d = block.halfOf(f.let(i32.or(i32.or(nibble(0), nibble(1)), i32.or(nibble(2), nibble(3)))));
  for (const run of runs) {
    const high = block.byte(32 + run);
    const point = (half: number): Index => withHigh(block.byte(2 * run + half), 8, high, 4 * half, 3);
    const isDown = (half: number): Index => i32.and(i32.shrU(high, 4 * half + 3), 1);
    const scale = i32.and(i32.shrU(block.short(48 + 2 * (run >> 2)), 3 * (run & 3)), 7);
    const codes = shiftedPoints(block, [point(0), point(1)], [isDown(0), isDown(1)]);
    block.write(run, codes, halfStep(block, d, scale, 1 / 4));
  }
}

/** Nibble `index` of the bytes at `at`. */
function nibbleAt(block: Block, at: number, index: number): Index {
  return i32.and(i32.shrU(block.byte(at + (index >> 1)), 4 * (index & 1)), 15);
}

export function iq2_xxs(block: Block): void {
  const { f } = block;
  const d = block.half(0);
  for (const run of runs) {
    const group = 2 + 8 * (run >> 1);
    const part = 2 * (run & 1);
    const packed = f.let(block.word(group + 4));
    const points = points8(block, [block.byte(group + part), block.byte(group + part + 1)]);
    const codes = signedBy(block, points, evenSigns16(block, packed, 7 * part, packed, 7 * part + 7));
    block.write(run, codes, halfStep(block, d, i32.shrU(packed, 28), 1 / 4));
  }
}

export function iq2_xs(block: Block): void {
  const { f } = block;
  const d = block.half(0);
  for (const run of runs) {
    const [first, second] = [f.let(block.short(2 + 4 * run)), f.let(block.short(4 + 4 * run))];
    const points = points8(block, [i32.and(first, 511), i32.and(second, 511)]);
    block.write(run, signedBy(block, points, evenSigns16(block, first, 9, second, 9)), halfStep(block, d, nibbleAt(block, 66, run), 1 / 4));
  }
}

export function iq2_s(block: Block): void {
  const d = block.half(0);
  for (const run of runs) {
    const point = (part: number): Index => withHigh(block.byte(2 + part), 8, block.byte(66 + (part >> 2)), 2 * (part & 3), 2);
    const codes = signedBy(block, points8(block, [point(2 * run), point(2 * run + 1)]), block.short(34 + 2 * run));
    block.write(run, codes, halfStep(block, d, nibbleAt(block, 74, run), 1 / 4));
  }
}

export function iq3_xxs(block: Block): void {
  const { f } = block;
  const d = block.half(0);
  for (const run of runs) {
    const packed = f.let(block.word(66 + 4 * (run >> 1)));
    const points = points4(
      block,
      [0, 1, 2, 3].map((part) => block.byte(2 + 4 * run + part)),
    );
    const shift = 14 * (run & 1);
    const codes = signedBy(block, points, evenSigns16(block, packed, shift, packed, shift + 7));
    block.write(run, codes, halfStep(block, d, i32.shrU(packed, 28), 1 / 2));
  }
}

export function iq3_s(block: Block): void {
  const d = block.half(0);
  for (const run of runs) {
    const points = points4(
      block,
      [0, 1, 2, 3].map((k) => {
        const part = 4 * run + k;
        return withHigh(block.byte(2 + part), 8, block.byte(66 + (part >> 3)), part & 7, 1);
      }),
    );
    const scale = i32.add(i32.shl(nibbleAt(block, 106, run >> 1), 1), 1);
    block.write(run, signedBy(block, points, block.short(74 + 2 * run)), block.times(d, scale));
  }
}
