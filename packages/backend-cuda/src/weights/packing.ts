import { elementAt, isQuantized } from "@centella/core/backend";
import { deviceBlock } from "@centella/gpu-kernels";
import type { NumberLayout, PlaneLayout } from "@centella/quant";
import { placeOf, type UnitFormat, type UnitMatrix, unitRows } from "./unitFormat.ts";

/** Bits of a unit that are a copy of bits of the stored rows. */
interface Copy {
  readonly word: number;
  /** Lowest bit of the word. */
  readonly to: number;
  readonly row: number;
  /** Byte of the row's stored form, from the unit's first weight on. */
  readonly byte: number;
  /** Lowest bit of the byte. */
  readonly shift: number;
  readonly bits: number;
}

/** How a unit is made of bytes of 16 stored rows: lists of copies per word. */
export interface Packing {
  /** Place in {@link copies} of each word's first copy, and the end. */
  readonly starts: Uint32Array;
  /** An entry per copy; {@link copyFields} says where its numbers are. */
  readonly copies: Uint32Array;
  /** Bits that are flipped, per word. */
  readonly flips: Uint32Array;
  /** Bytes of the stored form of a unit's row. */
  readonly rowBytes: number;
}

const packings = new WeakMap<UnitFormat, Packing>();

/** The packing of a format, made once. */
export function packingOf(format: UnitFormat): Packing {
  let packing = packings.get(format);
  if (packing === undefined) {
    packing = createPacking(format);
    packings.set(format, packing);
  }
  return packing;
}

/** The fields of one copy, from its entry. */
export const copyFields = {
  row: { from: 0, bits: 4 },
  byte: { from: 4, bits: 10 },
  shift: { from: 14, bits: 3 },
  bits: { from: 17, bits: 4 },
  to: { from: 21, bits: 5 },
} as const;

function createPacking(format: UnitFormat): Packing {
  const words = format.bytes / 4;
  const flips = new Uint32Array(words);
  const list = copiesOf(format, flips).toSorted((a, b) => a.word - b.word);
  const starts = new Uint32Array(words + 1);
  const addTo = (word: number, count: number): void => {
    starts[word] = elementAt(starts, word) + count;
  };
  for (const { word } of list) addTo(word + 1, 1);
  for (let word = 0; word < words; word++) addTo(word + 1, elementAt(starts, word));
  const copies = Uint32Array.from(list, (copy) =>
    Object.entries(copyFields).reduce((entry, [name, { from }]) => entry + copy[name as keyof typeof copyFields] * 2 ** from, 0),
  );
  return { starts, copies, flips, rowBytes: storedRowBytes(format, format.width) };
}

/** Bytes of `weights` weights of a row in the blocks that units are packed from. */
export function storedRowBytes({ dtype }: UnitFormat, weights: number): number {
  if (!isQuantized(dtype)) return 2 * weights;
  const { blockElements, blockBytes } = deviceBlock(dtype);
  return (weights / blockElements) * blockBytes;
}

/** A number of a row: where its bits are in the row's stored form, from its low bits up. */
type Source = readonly { readonly byte: number; readonly shift: number; readonly bits: number }[];

/** Collects copies, and bits that are flipped. */
class CopyList {
  readonly copies: Copy[] = [];
  readonly #flips: Uint32Array;

  constructor(flips: Uint32Array) {
    this.#flips = flips;
  }

  /** Copies bits `from` to `from + bits - 1` of a number of row `row` to bits `bit` on of a word. */
  add(word: number, bit: number, row: number, source: Source, from: number, bits: number): void {
    let low = 0;
    for (const piece of source) {
      const [first, end] = [Math.max(from, low), Math.min(from + bits, low + piece.bits)];
      if (first < end) {
        const [to, shift] = [bit + first - from, piece.shift + first - low];
        this.copies.push({ word, to, row, byte: piece.byte, shift, bits: end - first });
      }
      low += piece.bits;
    }
  }

  /** Copies the f16 at a byte to half `index` of those from byte `offset` of the unit on. */
  addHalf(offset: number, index: number, row: number, byte: number): void {
    this.add(offset / 4 + (index >> 1), 16 * (index & 1), row, bytesAt(byte), 0, 16);
  }

  /** Flips bits of a word: bits `from` to `from + bits - 1` of `value`. */
  flip(word: number, bit: number, value: number, from: number, bits: number): void {
    this.#flips[word] = (elementAt(this.#flips, word) ^ (((value >> from) & (2 ** bits - 1)) << bit)) >>> 0;
  }
}

/** The two bytes from `byte` on. */
function bytesAt(byte: number): Source {
  return [0, 1].map((i) => ({ byte: byte + i, shift: 0, bits: 8 }));
}

function copiesOf(format: UnitFormat, flips: Uint32Array): readonly Copy[] {
  const { planes, width, stored } = format;
  const list = new CopyList(flips);
  const numberOf = (layout: NumberLayout, index: number): Source => {
    const block = Math.floor(index / layout.count) * storedRowBytes(format, stored?.codes.count ?? 0);
    return layout.pieces(index % layout.count).map(({ at, shift, bits }) => ({ byte: block + at, shift, bits }));
  };
  for (let row = 0; row < unitRows; row++) {
    for (let k = 0; k < width; k++) {
      const source = stored === undefined ? bytesAt(2 * k) : numberOf(stored.codes, k);
      for (const plane of planes) {
        const { bits, from, offset } = plane;
        const place = placeOf(plane, row, k);
        list.add(offset / 4 + place.word, place.bit, row, source, from, bits);
        list.flip(offset / 4 + place.word, place.bit, stored?.codes.flip ?? 0, from, bits);
      }
    }
    if (stored !== undefined) addScales(list, format, stored, row, numberOf);
  }
  return list.copies;
}

/** Adds the copies of a row's scales, minima and halves. */
function addScales(
  list: CopyList,
  format: UnitFormat,
  { scales: stored, minima, d, dmin, codes }: PlaneLayout,
  row: number,
  numberOf: (layout: NumberLayout, index: number) => Source,
): void {
  const { width, groupSize, scales } = format;
  const groups = width / groupSize;
  const numbers = [stored, minima].filter((layout) => layout !== undefined);
  for (let group = 0; group < groups; group++) {
    const [byte, upper] = [group & 3, group >> 2];
    if (scales.kind === "halves") {
      const block = Math.floor((group * groupSize) / codes.count) * storedRowBytes(format, codes.count);
      list.addHalf(scales.d, row * groups + group, row, block + (d ?? 0));
      if (scales.m !== undefined) list.addHalf(scales.m, row * groups + group, row, block + (dmin ?? 0));
    } else if (scales.kind === "sixBits") {
      // The word of low bits has four groups in the lower nibbles of its bytes and four in the upper ones.
      for (const [which, layout] of numbers.entries()) {
        const source = numberOf(layout, group);
        list.add(scales.low / 4 + 2 * row + which, 8 * byte + 4 * upper, row, source, 0, 4);
        list.add(scales.high / 4 + row, 8 * byte + 4 * which + 2 * upper, row, source, 4, 2);
      }
    } else if (scales.kind !== "none") {
      const word = (scales.scales + row * groups + group) >> 2;
      for (const [which, layout] of numbers.entries()) list.add(word, 8 * byte + 4 * which, row, numberOf(layout, group), 0, 8);
      list.flip(word, 8 * byte, stored?.flip ?? 0, 0, 8);
    }
  }
  if (scales.kind === "bytes" && scales.d !== undefined) list.addHalf(scales.d, 2 * (row & 7) + (row >> 3), row, d ?? 0);
  if (scales.kind === "nibbles" || scales.kind === "sixBits") {
    list.addHalf(scales.d, 2 * row, row, d ?? 0);
    list.addHalf(scales.d, 2 * row + 1, row, dmin ?? 0);
  }
}

/** Rebuilds stored rows from units, bit for bit. */
export function unpack({ format, rows, columns, units }: UnitMatrix, packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const { starts, copies, flips, rowBytes } = packingOf(format);
  const words = new Uint32Array(packed.buffer, packed.byteOffset, packed.length / 4);
  const storedBytes = storedRowBytes(format, columns);
  const stored = new Uint8Array(rows * storedBytes);
  const field = (entry: number, { from, bits }: { readonly from: number; readonly bits: number }): number =>
    (entry >>> from) & (2 ** bits - 1);
  const wordsPerUnit = format.bytes / 4;
  const copiesOfWords = Array.from({ length: wordsPerUnit }, (_, word) => copies.subarray(starts[word], starts[word + 1]));
  for (let unit = 0; unit * wordsPerUnit < words.length; unit++) {
    const [firstRow, firstByte] = [Math.floor(unit / units) * unitRows, (unit % units) * rowBytes];
    for (let word = 0; word < wordsPerUnit; word++) {
      const value = elementAt(words, unit * wordsPerUnit + word) ^ elementAt(flips, word);
      for (const entry of elementAt(copiesOfWords, word)) {
        const [row, byte] = [firstRow + field(entry, copyFields.row), firstByte + field(entry, copyFields.byte)];
        if (row >= rows || byte >= storedBytes) continue;
        const bits = (value >>> field(entry, copyFields.to)) & (2 ** field(entry, copyFields.bits) - 1);
        stored[row * storedBytes + byte]! |= bits << field(entry, copyFields.shift);
      }
    }
  }
  return stored;
}
