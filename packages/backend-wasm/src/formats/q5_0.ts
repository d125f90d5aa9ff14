import { type V128, v128 } from "../emit/index.ts";
import { moveBits, nibbles } from "./bits.ts";
import type { Half } from "./block.ts";
import type { BlockContext, GroupFormat } from "./format.ts";
import { nibbleOrder } from "./q4_0.ts";

export const q5_0: GroupFormat = {
  elements: 32,
  bytes: 22,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 4, count: 1, areBitsTransposed: true },
    { at: 6, unit: 4, count: 4 },
  ],
  rounding: "q8_0",
  largestCode: 31,
  biasBits: 4,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: (context, index, half) => fiveBits(context, 2, index, half),
  d: ({ block }, half) => block.halves(0, half),
};

/** Codes of q5_0 and q5_1: the transposed fifth bits at `at`, the nibbles after them. */
export function fiveBits({ f, block }: BlockContext, at: number, index: number, half: Half): V128 {
  const fifths = block.once("fifths", half, () => block.word(at, half));
  return v128.or(nibbles(f, block.word(at + 4 + 4 * (index & 3), half), index >= 4), moveBits(f, fifths, index, 1, 4));
}
