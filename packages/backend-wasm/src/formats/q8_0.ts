import type { GroupFormat } from "./format.ts";

export const q8_0: GroupFormat = {
  elements: 32,
  bytes: 34,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 4, count: 8 },
  ],
  rounding: "q8_0",
  largestCode: undefined,
  runElements: 32,
  codes: ({ block }, index, half) => block.word(2 + 4 * index, half),
  d: ({ block }, half) => block.halves(0, half),
};
