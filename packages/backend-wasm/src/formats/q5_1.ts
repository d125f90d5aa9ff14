import type { GroupFormat } from "./format.ts";
import { fifthsExchange, fiveBitOrder, fiveBitUnit } from "./q5_0.ts";

export const q5_1: GroupFormat = {
  elements: 32,
  bytes: 24,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 2, count: 1 },
    { at: 4, unit: 4, count: 1, areBitsTransposed: true },
    { at: 8, unit: 4, count: 4 },
  ],
  bitExchange: fifthsExchange(4),
  rounding: "q8_0",
  largestCode: 31,
  runElements: 32,
  unitOrder: fiveBitOrder,
  codes: (context, index, half) => fiveBitUnit(context, 4, index, half),
  d: ({ block }, half) => block.halves(0, half),
  m: ({ block }, half) => block.halves(2, half),
};
