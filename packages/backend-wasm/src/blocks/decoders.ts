import { elementAt, mapTuple } from "@centella/core/backend";
import type { BlockType } from "@centella/quant";
import { type Expr, f32x4, i8x16, i16x8, i32, i32x4, type V128, v128 } from "../emit/index.ts";
import { lookUp, moveBits, nibbles } from "../formats/bits.ts";
import { iq4Levels } from "../formats/iq4_nl.ts";
import { doubledE2m1 } from "../formats/mxfp4.ts";
import type { Block } from "./block.ts";
import { iq1_m, iq1_s, iq2_s, iq2_xs, iq2_xxs, iq3_s, iq3_xxs } from "./codebooks.ts";

/** Emits the decoding of a whole block. For layouts and sources see @centella/quant, file by file. */
type Decoder = (block: Block) => void;

/** 0 to `count - 1`. */
const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

/** Subtracts `by` from every byte. */
function less(block: Block, codes: V128, by: number): V128 {
  return i8x16.sub(codes, block.f.splatBits(by * 0x01010101));
}

function q1_0(block: Block): void {
  const d = block.half(0);
  // 1 if the bit is set, else -1.
  for (const run of upTo(8)) block.write(run, v128.or(v128.not(block.mask(block.short(2 + 2 * run))), block.f.splatBits(0x01010101)), d);
}

function q2_0(block: Block): void {
  const { f } = block;
  const d = block.half(0);
  for (const run of upTo(4)) {
    const packed = block.splat(2 + 4 * run);
    const each = f.let(i8x16.shuffle(packed, packed, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]));
    const pair = (k: number): V128 => v128.and(i32x4.shrU(each, 2 * k), f.splatBits(3 << (8 * k)));
    block.write(run, less(block, v128.or(v128.or(pair(0), pair(1)), v128.or(pair(2), pair(3))), 1), d);
  }
}

/** 32 weights in nibbles at `at`, with optional fifth bits in the mask at `fifth`. */
function nibbleCodes(block: Block, at: number, fifth?: number): readonly V128[] {
  const { f } = block;
  const packed = block.bytes(at);
  return [0, 1].map((run) => {
    const low = nibbles(f, packed, run === 1);
    return fifth === undefined ? low : v128.or(low, v128.and(block.mask(block.short(fifth + 2 * run)), f.splatBits(0x10101010)));
  });
}

function centred(at: number, centre: number, fifth?: number): Decoder {
  return (block) => {
    const d = block.half(0);
    for (const [run, codes] of nibbleCodes(block, at, fifth).entries()) block.write(run, less(block, codes, centre), d);
  };
}

function shifted(at: number, fifth?: number): Decoder {
  return (block) => {
    const d = block.half(0);
    const minimum = block.f.let(f32x4.neg(block.half(2)));
    for (const [run, codes] of nibbleCodes(block, at, fifth).entries()) block.write(run, codes, d, minimum);
  };
}

function signedBytes(at: number, runs: number, scale: (block: Block) => V128): Decoder {
  return (block) => {
    const d = scale(block);
    for (const run of upTo(runs)) block.write(run, block.bytes(at + 16 * run), d);
  };
}

/** Run `run` of the bit pairs of q2_K and q3_K: 32 bytes per 128 weights, each bit pair with 32 weights. */
function pairs(block: Block, at: number, run: number): V128 {
  return moveBits(block.f, block.bytes(at + 32 * (run >> 3) + 16 * (run & 1)), run & 6, 2, 0);
}

function q2_K(block: Block): void {
  const [d, dmin] = [block.half(80), block.half(82)];
  for (const run of upTo(16)) {
    const step = block.times(d, i32.and(block.byte(run), 15));
    block.write(run, pairs(block, 16, run), step, block.times(dmin, i32.shrU(block.byte(run), 4)));
  }
}

function q3_K(block: Block): void {
  const d = block.half(108);
  for (const run of upTo(16)) {
    const low = i32.and(i32.shrU(block.byte(96 + (run & 7)), run < 8 ? 0 : 4), 15);
    const high = i32.and(i32.shrU(block.byte(104 + (run & 3)), 2 * (run >> 2)), 3);
    const third = moveBits(block.f, block.bytes(16 * (run & 1)), run >> 1, 1, 2);
    const codes = less(block, v128.or(pairs(block, 32, run), third), 4);
    block.write(run, codes, block.times(d, i32.sub(i32.or(low, i32.shl(high, 4)), 32)));
  }
}

/** Scale or minimum `j` of the 12 packed bytes at `at`, see kScales.ts of @centella/quant. */
function kScale(block: Block, at: number, j: number, isMinimum: boolean): Expr<"i32"> {
  const own = at + (j & 3) + (isMinimum ? 4 : 0);
  if (j < 4) return i32.and(block.byte(own), 63);
  const low = i32.and(i32.shrU(block.byte(at + 4 + j), isMinimum ? 4 : 0), 15);
  return i32.or(low, i32.shl(i32.shrU(block.byte(own), 6), 4));
}

/** q4_K, and q5_K with its fifth bits at `fifth`. */
function kNibbles(at: number, fifth?: number): Decoder {
  return (block) => {
    const [d, dmin] = [block.half(0), block.half(2)];
    for (const group of upTo(8)) {
      const step = block.times(d, kScale(block, 4, group, false));
      const minimum = block.times(dmin, kScale(block, 4, group, true));
      for (const half of [0, 1]) {
        const low = nibbles(block.f, block.bytes(at + 32 * (group >> 1) + 16 * half), group % 2 === 1);
        const codes = fifth === undefined ? low : v128.or(low, moveBits(block.f, block.bytes(fifth + 16 * half), group, 1, 4));
        block.write(2 * group + half, codes, step, minimum);
      }
    }
  };
}

function q6_K(block: Block): void {
  const d = block.half(208);
  for (const run of upTo(16)) {
    const [part, quarter, half] = [run >> 3, (run >> 1) & 3, run & 1];
    const low = nibbles(block.f, block.bytes(64 * part + 32 * (quarter & 1) + 16 * half), quarter >= 2);
    const high = moveBits(block.f, block.bytes(128 + 32 * part + 16 * half), 2 * quarter, 2, 4);
    block.write(run, less(block, v128.or(low, high), 32), block.times(d, block.signedByte(192 + run)));
  }
}

/** Levels of the nibbles at `at`. */
function levelCodes(block: Block, at: number, levels: readonly number[]): readonly V128[] {
  const packed = block.bytes(at);
  return [0, 1].map((run) => lookUp(block.f, block.target, levels, nibbles(block.f, packed, run === 1)));
}

function iq4_nl(block: Block): void {
  const d = block.half(0);
  for (const [run, codes] of levelCodes(block, 2, iq4Levels).entries()) block.write(run, codes, d);
}

function iq4_xs(block: Block): void {
  const d = block.half(0);
  for (const group of upTo(8)) {
    const low = i32.and(i32.shrU(block.byte(4 + (group >> 1)), 4 * (group & 1)), 15);
    const high = i32.and(i32.shrU(block.short(2), 2 * group), 3);
    const step = block.times(d, i32.sub(i32.or(low, i32.shl(high, 4)), 32));
    for (const [half, codes] of levelCodes(block, 8 + 16 * group, iq4Levels).entries()) block.write(2 * group + half, codes, step);
  }
}

function mxfp4(block: Block): void {
  const { f } = block;
  // 2^(e - 128): half the power of two, because levels are doubled. The two smallest are subnormal.
  const e = f.let(block.byte(0));
  const bits = i32.select(i32.gtU(e, 1), i32.shl(i32.sub(e, 1), 23), i32.shl(0x00200000, e));
  const d = f.let(i32x4.splat(bits));
  for (const [run, codes] of levelCodes(block, 1, doubledE2m1).entries()) block.write(run, codes, d);
}

function nvfp4(block: Block): void {
  const { f, target } = block;
  for (const run of upTo(4)) {
    // The bits of E4M3 at their positions in an f32, with the exponent 120 too low. Half of it, because levels are
    // doubled. 0x7f is 0.
    const scale = f.let(block.byte(run));
    const bits = i32.select(i32.eq(scale, 0x7f), 0, i32.shl(i32.and(scale, 0x7f), 20));
    const step = f.let(f32x4.mul(i32x4.splat(bits), f.splat(2 ** 119)));
    const packed = block.eight(4 + 8 * run);
    const codes = i8x16.shuffle(nibbles(f, packed, false), nibbles(f, packed, true), [...upTo(8), ...upTo(8).map((i) => i + 16)]);
    block.write(run, lookUp(f, target, doubledE2m1, codes), step);
  }
}

function tq1_0(block: Block): void {
  const { f } = block;
  const d = block.half(52);
  /** Ternary digits of 16 bytes, by the powers of three for each half. */
  const digits = (packed: V128, powers: readonly [V128, V128]): V128 => {
    const bytes = f.let(packed);
    const halves = [i16x8.extendLowU(bytes), i16x8.extendHighU(bytes)];
    const [low, high] = mapTuple(powers, (power, i) => {
      const fraction = v128.and(i16x8.mul(elementAt(halves, i), power), f.splatBits(0x00ff00ff));
      return i16x8.shrU(i16x8.mul(fraction, f.splatBits(0x00030003)), 8);
    });
    return less(block, i8x16.narrowI16x8U(low, high), 1);
  };
  const power = (n: number): V128 => f.splatBits(3 ** n * 0x00010001);
  for (const run of upTo(10)) block.write(run, digits(block.bytes(16 * (run & 1)), [power(run >> 1), power(run >> 1)]), d);
  for (const n of upTo(5)) block.write(10 + n, digits(block.bytes(32), [power(n), power(n)]), d);
  const fourEach = (a: number, b: number): V128 => f.pooled(new Uint8Array(Uint16Array.of(a, a, a, a, b, b, b, b).buffer));
  block.write(15, digits(block.splat(48), [fourEach(1, 3), fourEach(9, 27)]), d);
}

function tq2_0(block: Block): void {
  const d = block.half(64);
  for (const run of upTo(16)) block.write(run, less(block, pairs(block, 0, run), 1), d);
}

/** Decoders by block type. */
export const decoders: Readonly<Record<BlockType, Decoder>> = {
  q1_0,
  q2_0,
  q4_0: centred(2, 8),
  q4_1: shifted(4),
  q5_0: centred(6, 16, 2),
  q5_1: shifted(8, 4),
  q8_0: signedBytes(2, 2, (block) => block.half(0)),
  q8_1: signedBytes(4, 2, (block) => block.half(0)),
  q2_K,
  q3_K,
  q4_K: kNibbles(16),
  q5_K: kNibbles(48, 16),
  q6_K,
  q8_K: signedBytes(4, 16, (block) => block.splat(0)),
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  iq4_nl,
  iq4_xs,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
};
