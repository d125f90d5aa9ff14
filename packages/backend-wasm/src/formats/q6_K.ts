import { v128 } from "../emit/index.ts";
import { moveBits } from "./bits.ts";
import type { Field } from "./field.ts";
import type { BitExchange, GroupFormat } from "./format.ts";

const [highBitsAt, scalesAt, scaleAt] = [128, 192, 208];
const parts = [0, 1];

type Stretches = readonly [number, number, number];

/** Location of the codes of the first three quarters of a part, when interleaved. */
const stretchesOf = (part: number): Stretches => [64 * part, 64 * part + 32, highBitsAt + 32 * part];

/**
 * Three bytes of a block have four codes. When interleaved, they hold three codes in their low bits, and two bits each
 * of the fourth in their high bits, which takes fewer instructions to extract.
 */
const bitExchange: BitExchange = {
  stretches: parts.map(stretchesOf),
  bytes: 32,
  exchange(words, first, [low, middle, high]: Stretches, count) {
    for (let i = first; i < first + count; i++) {
      const a = words[low + i]!;
      const b = words[middle + i]!;
      const h = words[high + i]!;
      words[low + i] = (a & 0x0f0f0f0f) | ((h << 4) & 0x30303030) | (h & 0xc0c0c0c0);
      words[middle + i] = (b & 0xcfcfcfcf) | ((h & 0x0c0c0c0c) << 2);
      words[high + i] = ((a >> 4) & 0x0f0f0f0f) | (h & 0x30303030) | ((b & 0x30303030) << 2);
    }
  },
};

export const q6_K: GroupFormat = {
  elements: 256,
  bytes: 210,
  // In the order of first use, so that the processor prefetches.
  fields: [
    { at: scalesAt, unit: 4, count: 4 },
    { at: scaleAt, unit: 2, count: 1 },
    ...parts.flatMap(stretchesOf).map((at): Field => ({ at, unit: 4, count: 8 })),
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
