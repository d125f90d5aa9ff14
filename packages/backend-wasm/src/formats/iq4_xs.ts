import { i8x16, i32x4, type V128, v128 } from "../emit/index.ts";
import { lookUp, nibbles } from "./bits.ts";
import type { GroupFormat } from "./format.ts";
import { iq4Levels } from "./iq4_nl.ts";
import { nibbleOrder } from "./q4_0.ts";

const [highBitsAt, lowBitsAt, codesAt] = [2, 4, 8];

export const iq4_xs: GroupFormat = {
  elements: 256,
  bytes: 136,
  fields: [
    { at: 0, unit: 2, count: 1 },
    { at: highBitsAt, unit: 2, count: 1 },
    { at: lowBitsAt, unit: 4, count: 1 },
    { at: codesAt, unit: 4, count: 32 },
  ],
  rounding: "q8_K",
  largestCode: undefined,
  runElements: 32,
  unitOrder: nibbleOrder,
  codes: ({ f, target, block }, index, half) =>
    lookUp(f, target, iq4Levels, nibbles(f, block.word(codesAt + 16 * (index >> 3) + 4 * (index & 3), half), (index & 4) !== 0)),
  d: ({ block }, half) => block.halves(0, half),
  scales({ f, block }, half) {
    const low = f.let(block.word(lowBitsAt, half));
    const even = f.let(nibbles(f, low, false));
    const odd = f.let(nibbles(f, low, true));
    // Runs 0 to 3 are in bytes 0 and 1 of `low`, each with an even and an odd run.
    const pairs = (lanes: readonly number[]): V128 =>
      i8x16.shuffle(
        even,
        odd,
        [0, 4, 8, 12].flatMap((row) => lanes.map((lane) => row + lane)),
      );
    const high = f.let(i32x4.extendLowU(block.shorts(highBitsAt, half)));
    const words = [0, 1].map((word) => {
      // Moves bit pair `r` of a byte to bits 4 and 5 of byte `r`.
      const bits = word === 0 ? high : f.let(i32x4.shrU(high, 8));
      const upper = [0, 1, 2, 3].map((byte) => v128.and(i32x4.shl(bits, 4 + 6 * byte), f.splatBits(0x30 << (8 * byte))));
      const lower = pairs([2 * word, 16 + 2 * word, 2 * word + 1, 16 + 2 * word + 1]);
      return f.let(
        i8x16.sub(
          upper.reduce((sum, part) => v128.or(sum, part), lower),
          f.splatBits(0x20202020),
        ),
      );
    });
    return { words, areSigned: true };
  },
};
