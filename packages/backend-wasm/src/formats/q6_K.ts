import { v128 } from "../emit/index.ts";
import { moveBits, nibbles } from "./bits.ts";
import type { Field, GroupFormat } from "./format.ts";

const [highBitsAt, scalesAt, scaleAt] = [128, 192, 208];

export const q6_K: GroupFormat = {
  elements: 256,
  bytes: 210,
  // In the order of first use: what streams from memory in order is fetched ahead.
  fields: [
    { at: scalesAt, unit: 4, count: 4 },
    { at: scaleAt, unit: 2, count: 1 },
    ...[0, 1].flatMap((part): Field[] => [
      { at: 64 * part, unit: 4, count: 4 },
      { at: highBitsAt + 32 * part, unit: 4, count: 4 },
      { at: 64 * part + 16, unit: 4, count: 4 },
      { at: highBitsAt + 32 * part + 16, unit: 4, count: 4 },
      { at: 64 * part + 32, unit: 4, count: 8 },
    ]),
  ],
  rounding: "q8_K",
  largestCode: 63,
  biasBits: 5,
  runElements: 16,
  codes({ f, block }, index, half) {
    const [part, quarter, unit] = [index >> 5, (index >> 3) & 3, index & 7];
    const low = nibbles(f, block.word(64 * part + 32 * (quarter & 1) + 4 * unit, half), quarter >= 2);
    return v128.or(low, moveBits(f, block.word(highBitsAt + 32 * part + 4 * unit, half), 2 * quarter, 2, 4));
  },
  d: ({ block }, half) => block.halves(scaleAt, half),
  scales: ({ f, block }, half) => ({ words: [0, 4, 8, 12].map((at) => f.let(block.word(scalesAt + at, half))), areSigned: true }),
};
