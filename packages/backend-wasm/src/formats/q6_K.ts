import { mapTuple } from "@centella/core/backend";
import { v128 } from "../emit/index.ts";
import { type BitPlace, bitMoves, inEachByte } from "./bitExchange.ts";
import { moveBits } from "./bits.ts";
import type { Field } from "./field.ts";
import type { BitExchange, GroupFormat } from "./format.ts";

const [highBitsAt, scalesAt, scaleAt] = [128, 192, 208];
const parts = [0, 1];

/** Halves of a stretch. Those of one half are adjacent when interleaved: reading ahead in three places keeps memory busy. */
const halfBytes = 16;

type Stretches = readonly [number, number, number];

/** Location of the codes of the first three quarters of a part, when interleaved. */
const stretchesOf = (part: number): Stretches => [64 * part, 64 * part + 32, highBitsAt + 32 * part];

/** Places of the first and of the second halves of each part's stretches. */
const stretchHalves: readonly Stretches[] = parts.flatMap((part) => {
  const stretches = stretchesOf(part);
  return [0, halfBytes].map((offset) => mapTuple(stretches, (at) => at + offset));
});

/** Moves of `count` bits of each byte from a bit of a stretch to a bit of another. */
const moved = (count: number, from: BitPlace, to: BitPlace): ReturnType<typeof inEachByte> =>
  Array.from({ length: count }, (_, i) =>
    inEachByte([
      [from[0], from[1] + i],
      [to[0], to[1] + i],
    ]),
  ).flat();

const [low, middle, high] = [0, 1, 2] as const;

/**
 * Three bytes of a block have four codes. When interleaved, they hold three codes in their low bits, and two bits each
 * of the fourth in their high bits, which takes fewer instructions to extract.
 */
const bitExchange: BitExchange = {
  stretches: stretchHalves,
  bytes: halfBytes,
  moves: () =>
    bitMoves([
      ...moved(4, [low, 0], [low, 0]),
      ...moved(2, [high, 0], [low, 4]),
      ...moved(2, [high, 6], [low, 6]),
      ...moved(4, [middle, 0], [middle, 0]),
      ...moved(2, [high, 2], [middle, 4]),
      ...moved(2, [middle, 6], [middle, 6]),
      ...moved(4, [low, 4], [high, 0]),
      ...moved(2, [high, 4], [high, 4]),
      ...moved(2, [middle, 4], [high, 6]),
    ]),
};

export const q6_K: GroupFormat = {
  elements: 256,
  bytes: 210,
  fields: [
    { at: scalesAt, unit: 4, count: 4 },
    { at: scaleAt, unit: 2, count: 1 },
    ...stretchHalves.flat().map((at): Field => ({ at, unit: 4, count: halfBytes / 4 })),
  ],
  bitExchange,
  rounding: "q8_K",
  largestCode: 63,
  biasBits: 5,
  runElements: 16,
  codes({ f, block }, index, half) {
    const [part, quarter, unit] = [index >> 5, (index >> 3) & 3, index & 7];
    const places = stretchesOf(part).map((stretch) => stretch + 4 * unit);
    const own = places[quarter];
    if (own !== undefined) return moveBits(f, block.word(own, half), 0, 6, 0);
    return places.map((place, i) => moveBits(f, block.word(place, half), 6, 2, 4 - 2 * i)).reduce((bits, more) => v128.or(bits, more));
  },
  d: ({ block }, half) => block.halves(scaleAt, half),
  scales: ({ f, block }, half) => ({ words: [0, 4, 8, 12].map((at) => f.let(block.word(scalesAt + at, half))), areSigned: true }),
};
