import { groupRows } from "./block.ts";
import { type FormatName, formatOf } from "./index.ts";

/** Format of a block matrix whose rows are interleaved by eight. Undefined if its bytes are stored as they were loaded. */
export type Interleaving = FormatName | undefined;

/**
 * In a group of eight interleaved rows, each unit of each field of a block is stored for row 0, row 1, … row 7. Some
 * formats also exchange bits. A group has as many bytes as its eight rows, so offsets of rows do not change.
 */

/** Bytes of a row of a matrix in a format. */
export function rowBytesOf(name: FormatName, k: number): number {
  const { elements, bytes } = formatOf(name);
  return (k / elements) * bytes;
}

/** Bytes of a matrix whose rows are interleaved: whole groups. */
export function groupedBytes(name: FormatName, rows: number, k: number): number {
  return Math.ceil(rows / groupRows) * groupRows * rowBytesOf(name, k);
}

/**
 * Interleaves whole rows, eight by eight, from `from` to `to` (whole groups). Missing rows of the last group are zeros.
 * Both arrays start at even offsets.
 */
export function interleaveRows(name: FormatName, rowBytes: number, from: Uint8Array, to: Uint8Array): void {
  const { Words, source, transposed, exchanged } = permutation(name, rowBytes);
  const { bytes, bitExchange } = formatOf(name);
  const wordBytes = Words.BYTES_PER_ELEMENT;
  const groupBytes = groupRows * rowBytes;
  const count = source.length;
  const whole = from.length - (from.length % groupBytes);
  const output = wordsOf(Words, to);
  // Bits are exchanged in whole words if these are aligned.
  const wide = to.byteOffset % 4 === 0 ? new Uint32Array(to.buffer, to.byteOffset, to.length >> 2) : output;
  // With eight rows, the words of a block are a multiple of this.
  const narrow = wide.BYTES_PER_ELEMENT / wordBytes;
  const stretches = exchanged.map((stretch) => stretch.map((word) => word / narrow));
  const interleave = (input: Uint8Array | Uint16Array, start: number, group: number): void => {
    let at = group / wordBytes;
    for (let block = start; block < start + rowBytes; block += bytes) {
      const first = block / wordBytes;
      for (let word = 0; word < count; word++) output[at + word] = input[first + source[word]!]!;
      for (const word of transposed) transposeWord(output, at + word, transposeBits);
      if (bitExchange !== undefined) {
        const words = (groupRows * bitExchange.bytes) / wide.BYTES_PER_ELEMENT;
        for (const stretch of stretches) bitExchange.exchange(wide, at / narrow, stretch, words);
      }
      at += count;
    }
  };
  const input = wordsOf(Words, from);
  for (let group = 0; group < whole; group += groupBytes) interleave(input, group, group);
  if (whole === from.length) return;
  const last = new Uint8Array(groupBytes);
  last.set(from.subarray(whole));
  interleave(wordsOf(Words, last), 0, whole);
}

export type WordArray = typeof Uint8Array | typeof Uint16Array;

/** How the words of a block are interleaved. */
export interface Permutation {
  /** Words of 16 bits, or of 8 if a block has an odd number of bytes. */
  readonly Words: WordArray;
  /** Source of each word of an interleaved block, relative to the first row's block. */
  readonly source: Uint32Array;
  /** Interleaved words at which 32 bits with transposed groups start. */
  readonly transposed: readonly number[];
  /** Interleaved words at which stretches with exchanged bits start. */
  readonly exchanged: readonly (readonly number[])[];
}

const permutations = new Map<string, Permutation>();

/** Returns the permutation of rows of this many bytes. */
export function permutation(name: FormatName, rowBytes: number): Permutation {
  const key = `${name} ${rowBytes}`;
  let found = permutations.get(key);
  if (found === undefined) {
    const { bytes, fields, bitExchange } = formatOf(name);
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
    const exchanged = bitExchange?.stretches.map((stretch) => stretch.map((at) => source.indexOf(at / wordBytes))) ?? [];
    found = { Words: wordBytes === 2 ? Uint16Array : Uint8Array, source: Uint32Array.from(source), transposed, exchanged };
    permutations.set(key, found);
  }
  return found;
}

/** Bytes as words. */
export function wordsOf(Words: WordArray, bytes: Uint8Array): Uint8Array | Uint16Array {
  const length = Math.floor(bytes.length / Words.BYTES_PER_ELEMENT);
  return Words === Uint16Array ? new Uint16Array(bytes.buffer, bytes.byteOffset, length) : bytes;
}

/** Transposes the 32 bits at a 16-bit word. */
export function transposeWord(words: Uint8Array | Uint16Array, at: number, transpose: (bits: number) => number): void {
  const bits = transpose(words[at]! | (words[at + 1]! << 16));
  words[at] = bits;
  words[at + 1] = bits >>> 16;
}

/** For each byte (two groups of four bits): bit `4 j + b` at bit `8 b + j`. */
const spreadGroups = Int32Array.from({ length: 256 }, (_, byte) => moveBits(byte, (bit) => 8 * (bit & 3) + (bit >> 2)));
/** Moves each bit of a byte. */
export function moveBits(byte: number, to: (bit: number) => number): number {
  let moved = 0;
  for (let bit = 0; bit < 8; bit++) moved |= ((byte >> bit) & 1) << to(bit);
  return moved;
}

function transposeBits(bits: number): number {
  let moved = 0;
  for (let byte = 0; byte < 4; byte++) moved |= spreadGroups[(bits >>> (8 * byte)) & 255]! << (2 * byte);
  return moved;
}
