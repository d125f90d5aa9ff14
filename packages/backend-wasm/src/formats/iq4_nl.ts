import { lookUp, nibbles } from "./bits.ts";
import type { GroupFormat } from "./format.ts";
import { nibbleOrder, q4_0 } from "./q4_0.ts";

/** The 16 levels of iq4_nl and iq4_xs, signed bytes. Source: `kvalues_iq4nl` of ggml-common.h. */
export const iq4Levels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113] as const;

export const iq4_nl: GroupFormat = {
  elements: 32,
  bytes: 18,
  fields: q4_0.fields,
  rounding: "q8_0",
  largestCode: undefined,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: ({ f, target, block }, index, half) => lookUp(f, target, iq4Levels, nibbles(f, block.word(2 + 4 * (index & 3), half), index >= 4)),
  d: ({ block }, half) => block.halves(0, half),
};
