import { elementAt, mapTuple, type Tuple } from "@centella/core/backend";
import { type FunctionBuilder, type V128, v128 } from "../emit/index.ts";
import { type BitPlace, bitMoves, inEachByte } from "./bitExchange.ts";
import { moveBits } from "./bits.ts";
import type { BitExchange } from "./format.ts";

/**
 * Codes of five bits. Eight of them are four bytes of nibbles and one byte of fifth bits. When interleaved, the five
 * bytes hold five codes in their low bits and the other three in their high bits, which takes fewer instructions to
 * extract. Codes 2 i and 2 i + 1 are those with nibbles in byte i.
 */

/** Offsets of the four stretches of nibbles and the one of fifth bits. */
export type Stretches = Tuple<number, 5>;

/** Which of the five bytes. */
export type Byte = 0 | 1 | 2 | 3 | 4;

/** Location of the codes: `count` bits of a byte, moved from bit `from` to bit `to` of the code. */
const codeBits: Tuple<readonly { readonly byte: Byte; readonly from: number; readonly count: number; readonly to: number }[], 8> = [
  ...mapTuple([0, 1, 2, 3, 4], (byte) => [{ byte, from: 0, count: 5, to: 0 }]),
  [
    { byte: 0, from: 5, count: 3, to: 2 },
    { byte: 1, from: 6, count: 2, to: 0 },
  ],
  [
    { byte: 2, from: 5, count: 3, to: 2 },
    { byte: 3, from: 6, count: 2, to: 0 },
  ],
  [
    { byte: 4, from: 5, count: 3, to: 2 },
    { byte: 1, from: 5, count: 1, to: 1 },
    { byte: 3, from: 5, count: 1, to: 0 },
  ],
];

/** Extracts code `code` of the eight in the bytes that `word` loads. */
export function fiveBits(f: FunctionBuilder, word: (byte: Byte) => V128, code: number): V128 {
  return elementAt(codeBits, code)
    .map(({ byte, from, count, to }) => moveBits(f, word(byte), from, count, to))
    .reduce((bits, more) => v128.or(bits, more));
}

/**
 * The bit exchange of stretches of `bytes` bytes. The last stretch has the fifth bits, with code `i` at bit
 * `fifthBits[i]`.
 */
export function fiveBitExchange(stretches: Stretches, bytes: number, fifthBits: Tuple<number, 8>): BitExchange {
  const moves = () =>
    codeBits.flatMap((places, code) =>
      places.flatMap(({ byte, from, count, to }) =>
        Array.from({ length: count }, (_, i) => {
          const bit = to + i;
          const stored: BitPlace = bit < 4 ? [code >> 1, 4 * (code & 1) + bit] : [4, elementAt(fifthBits, code)];
          return inEachByte([stored, [byte, from + i]]);
        }).flat(),
      ),
    );
  return { stretches: [stretches], bytes, moves: () => bitMoves(moves()) };
}
