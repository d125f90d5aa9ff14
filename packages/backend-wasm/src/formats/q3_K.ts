import { mapTuple } from "@centella/core/backend";
import { i8x16, v128 } from "../emit/index.ts";
import { moveBits, nibbles } from "./bits.ts";
import type { GroupFormat } from "./format.ts";

const [maskAt, lowBitsAt, scalesAt, scaleAt] = [0, 32, 96, 108];

export const q3_K: GroupFormat = {
  elements: 256,
  bytes: 110,
  // In the order of first use, as in q6_K.
  fields: [
    { at: scalesAt, unit: 4, count: 3 },
    { at: scaleAt, unit: 2, count: 1 },
    { at: lowBitsAt, unit: 4, count: 4 },
    { at: maskAt, unit: 4, count: 4 },
    { at: lowBitsAt + 16, unit: 4, count: 4 },
    { at: maskAt + 16, unit: 4, count: 4 },
    { at: lowBitsAt + 32, unit: 4, count: 8 },
  ],
  rounding: "q8_K",
  largestCode: 7,
  biasBits: 2,
  runElements: 16,
  codes({ f, block }, index, half) {
    const low = moveBits(f, block.word(lowBitsAt + 32 * (index >> 5) + 4 * (index & 7), half), 2 * ((index >> 3) & 3), 2, 0);
    return v128.or(low, moveBits(f, block.word(maskAt + 4 * (index & 7), half), index >> 3, 1, 2));
  },
  d: ({ block }, half) => block.halves(scaleAt, half),
  scales({ f, block }, half) {
    const [first, second, high] = mapTuple([0, 4, 8], (at) => f.let(block.word(scalesAt + at, half)));
    const words = [0, 1, 2, 3].map((word) => {
      const low = nibbles(f, word % 2 === 0 ? first : second, word >= 2);
      return f.let(i8x16.sub(v128.or(low, moveBits(f, high, 2 * word, 2, 4)), f.splatBits(0x20202020)));
    });
    return { words, areSigned: true };
  },
};
