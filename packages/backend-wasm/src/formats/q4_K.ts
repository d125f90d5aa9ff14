import { v128 } from "../emit/index.ts";
import { bitMoves, inEachByte } from "./bitExchange.ts";
import { highNibbles, lowNibbles, moveBits, nibbles } from "./bits.ts";
import type { Half } from "./block.ts";
import type { BitExchange, BlockContext, GroupFormat, RunBytes } from "./format.ts";
import { nibbleOrder } from "./q4_0.ts";

/**
 * Scales or minima of q4_K and q5_K, eight of 6 bits each, from the twelve bytes at 4 (see kScales.ts of
 * `@centella/quant`).
 */
export function kRunBytes({ f, block }: BlockContext, half: Half, areMinima: boolean): RunBytes {
  const word = (at: number) => block.once(`scales${at}`, half, () => block.word(at, half));
  const [scales, minima, rest] = [word(4), word(8), word(12)];
  const own = areMinima ? minima : scales;
  const low = areMinima ? highNibbles(f, rest) : lowNibbles(f, rest);
  return { words: [f.let(moveBits(f, own, 0, 6, 0)), f.let(v128.or(low, moveBits(f, own, 6, 2, 4)))], areSigned: false };
}

/** Interleaved bytes with the nibbles of a run. In the original order, each 32 bytes have those of two runs. */
const runBytes = 16;

/**
 * Moves the low nibbles of 32 bytes to the first 16 bytes and the high ones to the rest, so that a run takes as few
 * words as possible.
 */
const bitExchange: BitExchange = {
  stretches: [0, 1, 2, 3].map((pair) => [16 + 2 * pair * runBytes, 16 + (2 * pair + 1) * runBytes]),
  bytes: runBytes,
  moves: () =>
    bitMoves(
      [0, 1].flatMap((stretch) =>
        [0, 1, 2, 3, 4, 5, 6, 7].flatMap((bit) =>
          inEachByte([
            [stretch, bit],
            [bit >> 2, 4 * stretch + (bit & 3)],
          ]),
        ),
      ),
    ),
};

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
  bitExchange,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: ({ f, block }, index, half) => nibbles(f, block.word(16 + runBytes * (index >> 3) + 4 * (index & 3), half), (index & 4) !== 0),
  d: ({ block }, half) => block.halves(0, half),
  scales: (context, half) => kRunBytes(context, half, false),
  minima: { dmin: ({ block }, half) => block.halves(2, half), bytes: (context, half) => kRunBytes(context, half, true) },
};
