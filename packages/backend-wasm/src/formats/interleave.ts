import { layoutOf } from "@centella/core";
import type { FormatName } from "./index.ts";

/** Rows that are interleaved: two vectors with four rows each. */
export const groupRows = 8;

/** `count` units of `unit` bytes from byte `at` of a block on. */
export interface Field {
  readonly at: number;
  readonly unit: 2 | 4;
  readonly count: number;
  /** The 32 bits of a unit are eight groups of four; interleaved, bit `b` of group `j` is bit `j` of byte `b`. */
  readonly areBitsTransposed?: boolean;
}

/**
 * The fields of a block in the order that they have in a group of interleaved rows: for each unit of each field, the unit of row 0,
 * of row 1, … of row 7. A group has the bytes of its eight rows, so that offsets of rows stay what they were.
 */
export const blockFields: Readonly<Record<FormatName, readonly Field[]>> = {
  q4_0: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 4, count: 4 },
  ],
  q5_0: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 4, count: 1, areBitsTransposed: true },
    { at: 6, unit: 4, count: 4 },
  ],
  q8_0: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 4, count: 8 },
  ],
  q4_K: [
    { at: 0, unit: 2, count: 1 },
    { at: 2, unit: 2, count: 1 },
    { at: 4, unit: 4, count: 3 },
    { at: 16, unit: 4, count: 32 },
  ],
  q6_K: [
    { at: 0, unit: 4, count: 32 },
    { at: 128, unit: 4, count: 16 },
    { at: 192, unit: 4, count: 4 },
    { at: 208, unit: 2, count: 1 },
  ],
};

/** Interleaves whole rows of `dtype`, eight by eight; the last `rows % 8` stay as they are. Both arrays start at even offsets. */
export function interleaveRows(dtype: FormatName, rowBytes: number, from: Uint8Array, to: Uint8Array): void {
  const { source, transposed } = permutation(dtype, rowBytes);
  const { bytes } = layoutOf(dtype);
  const [input, output] = [words16(from), words16(to)];
  const groupBytes = groupRows * rowBytes;
  const whole = from.length - (from.length % groupBytes);
  for (let group = 0; group < whole; group += groupBytes) {
    let at = group / 2;
    for (let block = group; block < group + rowBytes; block += bytes) {
      const first = block / 2;
      for (const offset of source) output[at++] = input[first + offset]!;
      for (const word of transposed) transposeWord(output, at - source.length + word, transposeBits);
    }
  }
  to.set(from.subarray(whole), whole);
}

/** Takes one row out of interleaved ones: `group` has the eight rows that it is number `lane` of. */
export function extractRow(dtype: FormatName, group: Uint8Array, lane: number, to: Uint8Array): void {
  const { bytes } = layoutOf(dtype);
  const [input, output] = [words16(group), words16(to)];
  const { from, transposed } = permutation(dtype, to.length).lanes[lane]!;
  for (let first = 0; first < output.length; first += bytes / 2) {
    for (let word = 0; word < from.length; word++) output[first + word] = input[groupRows * first + from[word]!]!;
    for (const word of transposed) transposeWord(output, first + word, restoreBits);
  }
}

interface Permutation {
  /** Where each 16-bit word of an interleaved block comes from, counted from the first row's block on. */
  readonly source: Uint32Array;
  /** The interleaved words at which 32 bits with transposed groups start. */
  readonly transposed: readonly number[];
  /** Per row: where each word of its block is in an interleaved block, and the words of the block at which transposed bits start. */
  readonly lanes: readonly { readonly from: Uint32Array; readonly transposed: readonly number[] }[];
}

const permutations = new Map<string, Permutation>();

function permutation(dtype: FormatName, rowBytes: number): Permutation {
  const key = `${dtype} ${rowBytes}`;
  let found = permutations.get(key);
  if (found === undefined) {
    const source: number[] = [];
    const transposed: number[] = [];
    for (const { at, unit, count, areBitsTransposed = false } of blockFields[dtype]) {
      for (let index = 0; index < count; index++) {
        for (let row = 0; row < groupRows; row++) {
          if (areBitsTransposed) transposed.push(source.length);
          for (let byte = 0; byte < unit; byte += 2) source.push((row * rowBytes + at + index * unit + byte) / 2);
        }
      }
    }
    const lanes = Array.from({ length: groupRows }, (_, row) => {
      const first = (row * rowBytes) / 2;
      const from = new Uint32Array(layoutOf(dtype).bytes / 2);
      source.forEach((word, index) => {
        if (word >= first && word < first + from.length) from[word - first] = index;
      });
      return { from, transposed: transposed.map((index) => source[index]! - first).filter((word) => word >= 0 && word < from.length) };
    });
    found = { source: Uint32Array.from(source), transposed, lanes };
    permutations.set(key, found);
  }
  return found;
}

function words16(bytes: Uint8Array): Uint16Array {
  return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
}

function transposeWord(words: Uint16Array, at: number, transpose: (bits: number) => number): void {
  const bits = transpose(words[at]! | (words[at + 1]! << 16));
  words[at] = bits;
  words[at + 1] = bits >>> 16;
}

/** For each byte (two groups of four bits): bit `4 j + b` at bit `8 b + j`. */
const spreadGroups = Int32Array.from({ length: 256 }, (_, byte) => moveBits(byte, (bit) => 8 * (bit & 3) + (bit >> 2)));
/** For each byte: bit `j` at bit `4 j`. */
const spreadBits = Int32Array.from({ length: 256 }, (_, byte) => moveBits(byte, (bit) => 4 * bit));

function moveBits(byte: number, to: (bit: number) => number): number {
  let moved = 0;
  for (let bit = 0; bit < 8; bit++) moved |= ((byte >> bit) & 1) << to(bit);
  return moved;
}

function transposeBits(bits: number): number {
  let moved = 0;
  for (let byte = 0; byte < 4; byte++) moved |= spreadGroups[(bits >>> (8 * byte)) & 255]! << (2 * byte);
  return moved;
}

function restoreBits(bits: number): number {
  let moved = 0;
  for (let byte = 0; byte < 4; byte++) moved |= spreadBits[(bits >>> (8 * byte)) & 255]! << byte;
  return moved;
}
