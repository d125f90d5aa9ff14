import { elementAt, mapTuple, type Tuple } from "@centella/core/backend";
import { type FunctionBuilder, type V128, v128 } from "../emit/index.ts";
import { moveBits } from "./bits.ts";
import type { BitExchange } from "./format.ts";

/**
 * Codes of five bits. Eight of them are four bytes of nibbles and one byte of fifth bits. When interleaved, the five
 * bytes hold five codes in their low bits and the other three in their high bits, which takes fewer instructions to
 * extract. Codes 2 i and 2 i + 1 are those with nibbles in byte i.
 */

/** Offsets of the four stretches of nibbles and the one of fifth bits. */
export type Stretches = Tuple<number, 5>;

/** Which of the eight codes. */
type Code = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** Which of the five bytes. */
export type Byte = 0 | 1 | 2 | 3 | 4;

/** Location of three of the codes: `count` bits of a byte, moved from bit `from` to bit `to` of the code. */
export const highBits: Tuple<readonly { readonly byte: Byte; readonly from: number; readonly count: number; readonly to: number }[], 3> = [
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

/** Location of all eight codes. */
const codeBits = [...mapTuple([0, 1, 2, 3, 4], (byte) => [{ byte, from: 0, count: 5, to: 0 }]), ...highBits];

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
  return {
    stretches: [stretches],
    bytes,
    exchange(words, first, [w0, w1, w2, w3, w4]: Stretches, count) {
      for (let i = first; i < first + count; i++) {
        const fifths = words[w4 + i]!;
        const fifth = (code: Code): number => ((fifths >>> fifthBits[code]) & 0x01010101) << 4;
        const a = words[w0 + i]!;
        const b = words[w1 + i]!;
        const c = words[w2 + i]!;
        const d = words[w3 + i]!;
        const c5 = ((c >>> 4) & 0x0f0f0f0f) | fifth(5);
        const c6 = (d & 0x0f0f0f0f) | fifth(6);
        const c7 = ((d >>> 4) & 0x0f0f0f0f) | fifth(7);
        words[w0 + i] = (a & 0x0f0f0f0f) | fifth(0) | ((c5 & 0x1c1c1c1c) << 3);
        words[w1 + i] = ((a >>> 4) & 0x0f0f0f0f) | fifth(1) | ((c5 & 0x03030303) << 6) | ((c7 & 0x02020202) << 4);
        words[w2 + i] = (b & 0x0f0f0f0f) | fifth(2) | ((c6 & 0x1c1c1c1c) << 3);
        words[w3 + i] = ((b >>> 4) & 0x0f0f0f0f) | fifth(3) | ((c6 & 0x03030303) << 6) | ((c7 & 0x01010101) << 5);
        words[w4 + i] = (c & 0x0f0f0f0f) | fifth(4) | ((c7 & 0x1c1c1c1c) << 3);
      }
    },
  };
}
