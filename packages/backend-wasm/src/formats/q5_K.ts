import type { Field } from "./field.ts";
import { fiveBitExchange, fiveBits } from "./fiveBits.ts";
import type { GroupFormat } from "./format.ts";
import { kRunBytes } from "./q4_K.ts";

/**
 * Nibbles, 32 bytes for two runs of 32, and fifth bits, of run `r` at bit `r`. When interleaved, each has the codes of
 * a run.
 */
const stretches = [48, 80, 112, 144, 16] as const;

/** Bits of the fifth bits of each run. */
export const fifthBits = [0, 1, 2, 3, 4, 5, 6, 7] as const;

export const q5_K: GroupFormat = {
  elements: 256,
  bytes: 176,
  // In the order of first use, as in q6_K.
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 2, count: 1 },
    { at: 4, unit: 4, count: 3 },
    ...stretches.map((at): Field => ({ at, unit: 4, count: 8 })),
  ],
  bitExchange: fiveBitExchange(stretches, 32, fifthBits),
  rounding: "q8_K",
  largestCode: 31,
  runElements: 32,
  codes: ({ f, block }, index, half) => fiveBits(f, (byte) => block.word(stretches[byte] + 4 * (index & 7), half), index >> 3),
  d: ({ block }, half) => block.halves(0, half),
  scales: (context, half) => kRunBytes(context, half, false),
  minima: { dmin: ({ block }, half) => block.halves(2, half), bytes: (context, half) => kRunBytes(context, half, true) },
};
