import { nibbles } from "./bits.ts";
import type { GroupFormat } from "./format.ts";
import { nibbleOrder } from "./q4_0.ts";

export const q4_1: GroupFormat = {
  elements: 32,
  bytes: 20,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 2, count: 1 },
    { at: 4, unit: 4, count: 4 },
  ],
  rounding: "q8_0",
  largestCode: 15,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: ({ f, block }, index, half) => nibbles(f, block.word(4 + 4 * (index & 3), half), index >= 4),
  d: ({ block }, half) => block.halves(0, half),
  m: ({ block }, half) => block.halves(2, half),
};
