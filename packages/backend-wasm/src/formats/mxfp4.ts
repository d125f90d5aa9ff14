import { i16x8, i32x4, v128 } from "../emit/index.ts";
import { lookUp, nibbles } from "./bits.ts";
import type { GroupFormat } from "./format.ts";
import { nibbleOrder } from "./q4_0.ts";

/** Twice the values of the 4-bit float E2M1. Source: `kvalues_mxfp4` of ggml-common.h. */
export const doubledE2m1: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
const levels = doubledE2m1.map((level) => level + 16);

export const mxfp4: GroupFormat = {
  elements: 32,
  bytes: 17,
  fields: [
    { at: 0, unit: 1, count: 1 },
    { at: 1, unit: 4, count: 4 },
  ],
  rounding: "q8_0",
  largestCode: 28,
  biasBits: 4,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: ({ f, target, block }, index, half) => lookUp(f, target, levels, nibbles(f, block.word(1 + 4 * (index & 3), half), index >= 4)),
  d({ f, block }, half) {
    // 2^(e - 128): half the power of two, because levels are doubled. The two smallest are subnormal.
    const e = f.let(i32x4.extendLowU(i16x8.extendLowU(block.bytes(0, half))));
    const normal = i32x4.shl(i32x4.sub(e, f.splatBits(1)), 23);
    const subnormal = i32x4.add(i32x4.shl(e, 21), f.splatBits(0x00200000));
    return v128.bitselect(i32x4.gtS(e, f.splatBits(1)), normal, subnormal);
  },
};
