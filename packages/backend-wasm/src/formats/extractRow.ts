import { elementAt, mapTuple, type Tuple, tupleOf } from "@centella/core/backend";
import { zip } from "../kernels/shared/zip.ts";
import { groupRows } from "./block.ts";
import { highBits, type Stretches } from "./fiveBits.ts";
import type { BitExchange, Words } from "./format.ts";
import { type FormatName, formatOf } from "./index.ts";
import { moveBits, type Permutation, permutation, transposeWord, wordsOf } from "./interleave.ts";
import { nibbleOrder } from "./q4_0.ts";
import { fifthBits } from "./q5_K.ts";

/** Reads rows back from interleaved groups: the inverse of interleave.ts. */

/** The inverse of {@link BitExchange.exchange}. */
type Restore = BitExchange["exchange"];

/** Inverses of exchanges that are not their own. */
const restores: { readonly [N in FormatName]?: Restore } = {
  q5_0: restoreFiveBits(nibbleOrder),
  q5_1: restoreFiveBits(nibbleOrder),
  q5_K: restoreFiveBits(fifthBits),
  q6_K: restoreSixBits,
};

/** Extracts row `lane` from a group of eight rows. */
export function extractRow(name: FormatName, group: Uint8Array, lane: number, to: Uint8Array): void {
  const { bytes, bitExchange } = formatOf(name);
  const all = permutation(name, to.length);
  const { Words } = all;
  const [input, output] = [wordsOf(Words, group), wordsOf(Words, to)];
  const { from, transposed } = rowOf(all, lane, to.length, bytes);
  for (let first = 0; first < output.length; first += bytes / Words.BYTES_PER_ELEMENT) {
    for (let word = 0; word < from.length; word++) output[first + word] = input[groupRows * first + from[word]!]!;
    if (bitExchange !== undefined) {
      const restore = restores[name] ?? bitExchange.exchange;
      for (const stretch of bitExchange.stretches) {
        const places = stretch.map((at) => at / Words.BYTES_PER_ELEMENT);
        restore(output, first, places, bitExchange.bytes / Words.BYTES_PER_ELEMENT);
      }
    }
    for (const word of transposed) transposeWord(output, first + word, restoreBits);
  }
}

/** The position of each word of a row's block in an interleaved block, and the row's words at which transposed bits start. */
function rowOf(
  { Words, source, transposed }: Permutation,
  lane: number,
  rowBytes: number,
  blockBytes: number,
): { readonly from: Uint32Array; readonly transposed: readonly number[] } {
  const first = (lane * rowBytes) / Words.BYTES_PER_ELEMENT;
  const from = new Uint32Array(blockBytes / Words.BYTES_PER_ELEMENT);
  source.forEach((word, index) => {
    if (word >= first && word < first + from.length) from[word - first] = index;
  });
  const own = transposed.map((index) => elementAt(source, index) - first);
  return { from, transposed: own.filter((word) => word >= 0 && word < from.length) };
}

function restoreFiveBits(order: Tuple<number, 8>): Restore {
  return (words, first, stretches, count) => {
    const at: Stretches = tupleOf(stretches, 5);
    const [w0, w1, w2, w3, w4] = at;
    for (let i = first; i < first + count; i++) {
      const bytes = mapTuple(at, (place) => words[place + i]!);
      const [c5, c6, c7] = mapTuple(highBits, (parts) =>
        parts.reduce((code, { byte, from, count, to }) => code | (((bytes[byte] >>> from) & (((1 << count) - 1) * 0x01010101)) << to), 0),
      );
      const [c0, c1, c2, c3, c4] = mapTuple(bytes, (byte) => byte & 0x1f1f1f1f);
      const nibbles = (low: number, high: number): number => (low & 0x0f0f0f0f) | ((high & 0x0f0f0f0f) << 4);
      words[w0 + i] = nibbles(c0, c1);
      words[w1 + i] = nibbles(c2, c3);
      words[w2 + i] = nibbles(c4, c5);
      words[w3 + i] = nibbles(c6, c7);
      const codes = zip([c0, c1, c2, c3, c4, c5, c6, c7], order);
      words[w4 + i] = codes.reduce((bits, [code, bit]) => bits | (((code >>> 4) & 0x01010101) << bit), 0);
    }
  };
}

function restoreSixBits(words: Words, first: number, stretches: readonly number[], count: number): void {
  const [low, middle, high] = tupleOf(stretches, 3);
  for (let i = first; i < first + count; i++) {
    const a = words[low + i]!;
    const b = words[middle + i]!;
    const c = words[high + i]!;
    words[low + i] = (a & 0x0f0f0f0f) | ((c & 0x0f0f0f0f) << 4);
    words[middle + i] = (b & 0xcfcfcfcf) | ((c >> 2) & 0x30303030);
    words[high + i] = (a & 0xc0c0c0c0) | ((a >> 4) & 0x03030303) | ((b >> 2) & 0x0c0c0c0c) | (c & 0x30303030);
  }
}

/** For each byte: bit `j` at bit `4 j`. */
const spreadBits = Int32Array.from({ length: 256 }, (_, byte) => moveBits(byte, (bit) => 4 * bit));

function restoreBits(bits: number): number {
  let moved = 0;
  for (let byte = 0; byte < 4; byte++) moved |= spreadBits[(bits >>> (8 * byte)) & 255]! << byte;
  return moved;
}
