import { highNibbles, lowNibbles, moveBits } from "./bits.ts";
import type { Half } from "./block.ts";
import type { BlockContext, GroupFormat, RunBytes } from "./format.ts";

/** Byte `w` of word `i`: nibbles with the scale and the minimum of run `4 i + w`. */
function runBytes({ f, block }: BlockContext, half: Half, areMinima: boolean): RunBytes {
  const words = [0, 4, 8, 12].map((at) => {
    const bytes = block.once(`scales${at}`, half, () => block.word(at, half));
    return f.let(areMinima ? highNibbles(f, bytes) : lowNibbles(f, bytes));
  });
  return { words, areSigned: false };
}

export const q2_K: GroupFormat = {
  elements: 256,
  bytes: 84,
  fields: [
    { at: 0, unit: 4, count: 4 },
    { at: 16, unit: 4, count: 16 },
    { at: 80, unit: 2, count: 1 },
    { at: 82, unit: 2, count: 1 },
  ],
  rounding: "q8_K",
  largestCode: 3,
  runElements: 16,
  codes: ({ f, block }, index, half) =>
    moveBits(f, block.word(16 + 32 * (index >> 5) + 4 * (index & 7), half), 2 * ((index >> 3) & 3), 2, 0),
  d: ({ block }, half) => block.halves(80, half),
  scales: (context, half) => runBytes(context, half, false),
  minima: { dmin: ({ block }, half) => block.halves(82, half), bytes: (context, half) => runBytes(context, half, true) },
};
