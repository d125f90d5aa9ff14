import { nibbles } from "./bits.ts";
import type { Field } from "./field.ts";
import type { BlockContext, GroupFormat } from "./format.ts";

/** d f16 | 16 bytes of nibbles */
const fields: readonly Field[] = [
  { at: 0, unit: 2, count: 1 },
  { at: 2, unit: 4, count: 4 },
];

/** Low nibbles of four words are units 0 to 3, high ones 4 to 7. */
export const nibbleOrder = [0, 4, 1, 5, 2, 6, 3, 7] as const;

export const q4_0: GroupFormat = {
  elements: 32,
  bytes: 18,
  fields,
  rounding: "q8_0",
  largestCode: 15,
  biasBits: 3,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: ({ f, block }: BlockContext, index, half) => nibbles(f, block.word(2 + 4 * (index & 3), half), index >= 4),
  d: ({ block }, half) => block.halves(0, half),
};
