import { v128 } from "../emit/index.ts";
import { highNibbles, lowNibbles, moveBits, nibbles } from "./bits.ts";
import type { Half } from "./block.ts";
import type { BlockContext, GroupFormat, RunBytes } from "./format.ts";

/** Scales or minima of q4_K and q5_K, eight of 6 bits each, from the twelve bytes at 4 (see kScales.ts of `@centella/quant`). */
export function kRunBytes({ f, block }: BlockContext, half: Half, areMinima: boolean): RunBytes {
  const [scales, minima, rest] = [4, 8, 12].map((at) => block.once(`scales${at}`, half, () => block.word(at, half)));
  const own = areMinima ? minima! : scales!;
  const low = areMinima ? highNibbles(f, rest!) : lowNibbles(f, rest!);
  return { words: [f.let(moveBits(f, own, 0, 6, 0)), f.let(v128.or(low, moveBits(f, own, 6, 2, 4)))], areSigned: false };
}

export const q4_K: GroupFormat = {
  elements: 256,
  bytes: 144,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 2, count: 1 },
    { at: 4, unit: 4, count: 3 },
    { at: 16, unit: 4, count: 32 },
  ],
  rounding: "q8_K",
  largestCode: 15,
  runElements: 32,
  codes: ({ f, block }, index, half) => nibbles(f, block.word(16 + 32 * (index >> 4) + 4 * (index & 7), half), (index & 8) !== 0),
  d: ({ block }, half) => block.halves(0, half),
  scales: (context, half) => kRunBytes(context, half, false),
  minima: { dmin: ({ block }, half) => block.halves(2, half), bytes: (context, half) => kRunBytes(context, half, true) },
};
