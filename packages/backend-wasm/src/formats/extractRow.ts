import { elementAt } from "@centella/core/backend";
import type { BitMove } from "./bitExchange.ts";
import { groupRows } from "./block.ts";
import { type FormatName, formatOf } from "./index.ts";

/** Reads rows back from interleaved groups: the inverse of interleave.ts. */

type WordArray = typeof Uint8Array | typeof Uint16Array;

/** How the words of a block are interleaved. */
interface Permutation {
  /** Words of 16 bits, or of 8 if a block has an odd number of bytes. */
  readonly Words: WordArray;
  /** Source of each word of an interleaved block, relative to the first row's block. */
  readonly source: Uint32Array;
  /** Interleaved words at which 32 bits with transposed groups start. */
  readonly transposed: readonly number[];
}

const permutations = new Map<string, Permutation>();

/** Returns the permutation of rows of this many bytes. */
function permutation(name: FormatName, rowBytes: number): Permutation {
  const key = `${name} ${rowBytes}`;
  let found = permutations.get(key);
  if (found === undefined) {
    const { bytes, fields } = formatOf(name);
    const wordBytes = bytes % 2 === 0 ? 2 : 1;
    const source: number[] = [];
    const transposed: number[] = [];
    for (const { at, unit, count, areBitsTransposed = false } of fields) {
      for (let index = 0; index < count; index++) {
        for (let row = 0; row < groupRows; row++) {
          if (areBitsTransposed) transposed.push(source.length);
          for (let byte = 0; byte < unit; byte += wordBytes) source.push((row * rowBytes + at + index * unit + byte) / wordBytes);
        }
      }
    }
    found = { Words: wordBytes === 2 ? Uint16Array : Uint8Array, source: Uint32Array.from(source), transposed };
    permutations.set(key, found);
  }
  return found;
}

/** Bytes as words. */
function wordsOf(Words: WordArray, bytes: Uint8Array): Uint8Array | Uint16Array {
  const length = Math.floor(bytes.length / Words.BYTES_PER_ELEMENT);
  return Words === Uint16Array ? new Uint16Array(bytes.buffer, bytes.byteOffset, length) : bytes;
}

/** Extracts row `lane` from a group of eight rows. */
export function extractRow(name: FormatName, group: Uint8Array, lane: number, to: Uint8Array): void {
  const { bytes, bitExchange } = formatOf(name);
  const all = permutation(name, to.length);
  const { Words } = all;
  const [input, output] = [wordsOf(Words, group), wordsOf(Words, to)];
  const { from, transposed } = rowOf(all, lane, to.length, bytes);
  const moves = bitExchange?.moves() ?? [];
  for (let first = 0; first < output.length; first += bytes / Words.BYTES_PER_ELEMENT) {
    for (let word = 0; word < from.length; word++) output[first + word] = input[groupRows * first + from[word]!]!;
    for (const stretch of bitExchange?.stretches ?? []) {
      const places = stretch.map((at) => first + at / Words.BYTES_PER_ELEMENT);
      for (let i = 0; i < bitExchange!.bytes / Words.BYTES_PER_ELEMENT; i++) moveBack(output, places, i, moves);
    }
    for (const word of transposed) restoreTransposed(output, first + word);
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

/** Reverses moves between the words at `places`, each `offset` words further. */
function moveBack(words: Uint8Array | Uint16Array, places: readonly number[], offset: number, moves: readonly BitMove[]): void {
  const restored = places.map(() => 0);
  for (const { from, to, shift, mask } of moves) {
    const bits = words[elementAt(places, to) + offset]! & mask;
    restored[from]! |= shift > 0 ? bits >>> shift : bits << -shift;
  }
  restored.forEach((word, stretch) => {
    words[elementAt(places, stretch) + offset] = word;
  });
}

/** For each byte: bit `j` at bit `4 j`. */
const spreadBits = Int32Array.from({ length: 256 }, (_, byte) => moveBits(byte, (bit) => 4 * bit));

/** Reverses the transposition of the 32 bits at a 16-bit word. */
function restoreTransposed(words: Uint8Array | Uint16Array, at: number): void {
  const bits = words[at]! | (words[at + 1]! << 16);
  let moved = 0;
  for (let byte = 0; byte < 4; byte++) moved |= spreadBits[(bits >>> (8 * byte)) & 255]! << byte;
  words[at] = moved;
  words[at + 1] = moved >>> 16;
}

/** Moves each bit of a byte. */
function moveBits(byte: number, to: (bit: number) => number): number {
  let moved = 0;
  for (let bit = 0; bit < 8; bit++) moved |= ((byte >> bit) & 1) << to(bit);
  return moved;
}
