import { v128 } from "../emit/index.ts";
import { moveBits, nibbles } from "./bits.ts";
import type { Field, GroupFormat } from "./format.ts";
import { kRunBytes } from "./q4_K.ts";

export const q5_K: GroupFormat = {
  elements: 256,
  bytes: 176,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 2, count: 1 },
    { at: 4, unit: 4, count: 3 },
    // In the order of first use, as in q6_K.
    ...[0, 16].flatMap((at): Field[] => [
      { at: 48 + at, unit: 4, count: 4 },
      { at: 16 + at, unit: 4, count: 4 },
    ]),
    { at: 80, unit: 4, count: 24 },
  ],
  rounding: "q8_K",
  largestCode: 31,
  runElements: 32,
  codes({ f, block }, index, half) {
    const low = nibbles(f, block.word(48 + 32 * (index >> 4) + 4 * (index & 7), half), (index & 8) !== 0);
    return v128.or(low, moveBits(f, block.word(16 + 4 * (index & 7), half), index >> 3, 1, 4));
  },
  d: ({ block }, half) => block.halves(0, half),
  scales: (context, half) => kRunBytes(context, half, false),
  minima: { dmin: ({ block }, half) => block.halves(2, half), bytes: (context, half) => kRunBytes(context, half, true) },
};
