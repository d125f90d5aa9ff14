import { elementAt, isQuantized } from "@centella/core/backend";
import { deviceBlock } from "@centella/gpu-kernels";
import type { NumberLayout, PlaneLayout } from "@centella/quant";
import { placeOf, type UnitFormat, unitRows } from "./unitFormat.ts";

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

/** Copies by the number of the place that they are copied to. */
export interface CopyTable {
  /** Place in {@link copies} of each number's first copy, and the end. */
  readonly starts: Uint32Array;
  /** An entry per copy. */
  readonly copies: Uint32Array;
  /** Bits that are flipped, per number. */
  readonly flips: Uint32Array;
  /** Bytes of the stored form of a unit's row. */
  readonly rowBytes: number;
}

/** Where a number of a copy is in the copy's entry: the lowest bit, and the number of bits. */
export interface EntryField {
  readonly from: number;
  readonly bits: number;
}

/** Where some numbers of a copy are in its entry. */
type EntryFields<Names extends keyof Copy> = Readonly<Record<Names, EntryField>>;

/** The entries of {@link packingOf}. */
export const packFields: EntryFields<"row" | "byte" | "shift" | "bits" | "to"> = {
  row: { from: 0, bits: 4 },
  byte: { from: 4, bits: 10 },
  shift: { from: 14, bits: 3 },
  bits: { from: 17, bits: 4 },
  to: { from: 21, bits: 5 },
};

/** The entries of {@link unpackingOf}. */
export const unpackFields: EntryFields<"word" | "to" | "bits" | "shift"> = {
  word: { from: 0, bits: 11 },
  to: { from: 11, bits: 5 },
  bits: { from: 16, bits: 4 },
  shift: { from: 20, bits: 3 },
};

/** Returns the copies that make each word of a unit from 16 stored rows. */
export const packingOf: (format: UnitFormat) => CopyTable = perFormat((format) => {
  const { copies, flips } = copiesOf(format);
  return copyTable(format, copies, flips, ({ word }) => word, packFields);
});

/** Returns the copies that make each byte of 16 stored rows from a unit, row after row: {@link packingOf} backwards. */
export const unpackingOf: (format: UnitFormat) => CopyTable = perFormat((format) => {
  const { copies, flips } = copiesOf(format);
  const rowBytes = storedRowBytes(format, format.width);
  const byteOf = ({ row, byte }: Copy): number => row * rowBytes + byte;
  const [known, flipped] = [new Uint8Array(unitRows * rowBytes), new Uint32Array(unitRows * rowBytes)];
  // Units have some scales more than once.
  const needed = copies.filter((copy) => {
    const mask = (2 ** copy.bits - 1) << copy.shift;
    const isNeeded = (elementAt(known, byteOf(copy)) & mask) !== mask;
    known[byteOf(copy)]! |= mask;
    if (isNeeded) flipped[byteOf(copy)]! |= ((elementAt(flips, copy.word) >>> copy.to) << copy.shift) & mask;
    return isNeeded;
  });
  return copyTable(format, needed, flipped, byteOf, unpackFields);
});

function perFormat<T>(create: (format: UnitFormat) => T): (format: UnitFormat) => T {
  const known = new WeakMap<UnitFormat, T>();
  return (format) => {
    const result = known.get(format) ?? create(format);
    known.set(format, result);
    return result;
  };
}

/** Orders copies by the number of their place, `numberOf`, for as many places as `flips` has. */
function copyTable<Names extends keyof Copy>(
  format: UnitFormat,
  copies: readonly Copy[],
  flips: Uint32Array,
  numberOf: (copy: Copy) => number,
  fields: EntryFields<Names>,
): CopyTable {
  const starts = new Uint32Array(flips.length + 1);
  const addTo = (place: number, count: number): void => {
    starts[place] = elementAt(starts, place) + count;
  };
  for (const copy of copies) addTo(numberOf(copy) + 1, 1);
  for (let place = 0; place < flips.length; place++) addTo(place + 1, elementAt(starts, place));
  const entries = Object.entries(fields) as [keyof Copy, EntryField][];
  const entryOf = (copy: Copy): number => entries.reduce((entry, [name, { from }]) => entry + copy[name] * 2 ** from, 0);
  const ordered = copies.toSorted((a, b) => numberOf(a) - numberOf(b));
  return { starts, copies: Uint32Array.from(ordered, entryOf), flips, rowBytes: storedRowBytes(format, format.width) };
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
  readonly flips: Uint32Array;

  constructor(words: number) {
    this.flips = new Uint32Array(words);
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
    this.flips[word] = (elementAt(this.flips, word) ^ (((value >> from) & (2 ** bits - 1)) << bit)) >>> 0;
  }
}

/** The two bytes from `byte` on. */
function bytesAt(byte: number): Source {
  return [0, 1].map((i) => ({ byte: byte + i, shift: 0, bits: 8 }));
}

/** The copies from stored rows to a unit, and the bits of its words that are flipped. */
function copiesOf(format: UnitFormat): { readonly copies: readonly Copy[]; readonly flips: Uint32Array } {
  const { planes, width, stored } = format;
  const list = new CopyList(format.bytes / 4);
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
  return list;
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
