import type { DType } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { blockLayout, type PlaneLayout, planeLayout } from "@centella/quant";

/** Rows of a unit: those of the left matrix of `mma.m16n8k16`. */
export const unitRows = 16;

/** Bits `from` to `from + bits - 1` of all codes of a unit. */
export interface CodePlane {
  readonly bits: 1 | 2 | 4 | 8 | 16;
  readonly from: number;
  /** Byte of the unit at which it starts. */
  readonly offset: number;
}

/** How the codes of a group become weights; the numbers are bytes of the unit at which the values start. */
export type UnitScales =
  /** Weights are stored as they are. */
  | { readonly kind: "none" }
  /** `d * code + m`: an f16 `d` per row and group, and an f16 `m` where the type has it. */
  | { readonly kind: "halves"; readonly d: number; readonly m?: number }
  /** `d * (scale - zero) * code`: a byte per row and group, and an f16 `d` per row. */
  | { readonly kind: "bytes"; readonly scales: number; readonly zero: number; readonly d: number }
  /** `d * scale * code - dmin * min`: six bits each per row and group, and two f16 per row. */
  | { readonly kind: "sixBits"; readonly low: number; readonly high: number; readonly d: number };

/**
 * The form of a weight matrix on the device: units of 16 rows x `width` weights, [row tile][unit of the row]. The codes are in the order in
 * which the lanes of a warp hand them to `mma.m16n8k16`. A unit is a multiple of 128 bytes, which one bulk copy moves at full speed.
 *
 * Codes come in planes. Lane `4 g + t` owns weights `16 c + 4 t` to `16 c + 4 t + 3` of rows g and g + 8, for each chunk c of 16 weights;
 * {@link placeOf} says where in the lane's words they are.
 */
export interface UnitFormat {
  readonly dtype: DType;
  readonly width: 64 | 256;
  /** Weights that share a scale. */
  readonly groupSize: 16 | 32;
  readonly planes: readonly CodePlane[];
  /** A code less this is the weight in steps of its group. */
  readonly zero: number;
  readonly scales: UnitScales;
  readonly bytes: number;
  /** How the stored type is split. Undefined for f16 and bf16. */
  readonly stored: PlaneLayout | undefined;
}

const planesOfBits: Readonly<Record<number, readonly CodePlane["bits"][]>> = { 4: [4], 5: [4, 1], 6: [4, 2], 8: [8] };

const formats = new Map<DType, UnitFormat | undefined>();

/** The unit format of a type, or undefined for types that stay in stored form. */
export function unitFormat(dtype: DType): UnitFormat | undefined {
  if (!formats.has(dtype)) formats.set(dtype, createFormat(dtype));
  return formats.get(dtype);
}

function createFormat(dtype: DType): UnitFormat | undefined {
  if (dtype === "f16" || dtype === "bf16") {
    const planes: readonly CodePlane[] = [{ bits: 16, from: 0, offset: 0 }];
    const plain = { dtype, width: 64, groupSize: 32, planes, zero: 0, scales: { kind: "none" } } as const;
    return { ...plain, bytes: 2048, stored: undefined };
  }
  const stored = isQuantized(dtype) ? planeLayout(dtype) : undefined;
  const bits = stored === undefined ? undefined : planesOfBits[stored.codeBits];
  if (stored === undefined || bits === undefined || stored.levels !== undefined || !isQuantized(dtype)) return undefined;
  const { groupSize, codeOffset: zero = 0 } = stored;
  if (groupSize !== 16 && groupSize !== 32) return undefined;
  const width = 256;
  let end = 0;
  const take = (bytes: number): number => {
    end += bytes;
    return end - bytes;
  };
  const groups = width / groupSize;
  let from = 0;
  const planes = bits.map((each): CodePlane => {
    const plane = { bits: each, from, offset: take((unitRows * width * each) / 8) };
    from += each;
    return plane;
  });
  const scales = scalesOf(stored, blockLayout(dtype).blockElements, groups, take);
  if (scales === undefined) return undefined;
  return { dtype, width, groupSize, planes, zero, scales, bytes: Math.ceil(end / 128) * 128, stored };
}

function scalesOf(stored: PlaneLayout, blockElements: number, groups: number, take: (bytes: number) => number): UnitScales | undefined {
  const { scales, scaleOffset = 0, minima, d, dmin, groupSize } = stored;
  if (d === undefined) return undefined;
  if (scales === undefined) {
    if (blockElements !== groupSize) return undefined;
    const halves = { kind: "halves", d: take(2 * unitRows * groups) } as const;
    return dmin === undefined ? halves : { ...halves, m: take(2 * unitRows * groups) };
  }
  if (minima === undefined) return { kind: "bytes", scales: take(unitRows * groups), zero: scaleOffset, d: take(2 * unitRows) };
  if (groups !== 8) return undefined;
  return { kind: "sixBits", low: take(unitRows * groups), high: take((unitRows * groups) / 2), d: take(4 * unitRows) };
}

/** A weight matrix in units. */
export interface UnitMatrix {
  readonly format: UnitFormat;
  /** Rows of all matrices of the tensor. */
  readonly rows: number;
  readonly columns: number;
  /** Units of a row tile. */
  readonly units: number;
  readonly bytes: number;
}

/** The form in units of a tensor whose last axis has whole blocks; undefined where its type or its extents have none. */
export function unitMatrix(dtype: DType, shape: readonly number[]): UnitMatrix | undefined {
  const format = unitFormat(dtype);
  const columns = shape.at(-1) ?? 0;
  const rows = shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
  // Rows of activations are read 16 bytes at a time.
  if (format === undefined || shape.length < 2 || rows === 0 || columns === 0 || columns % 8 !== 0) return undefined;
  const units = Math.ceil(columns / format.width);
  return { format, rows, columns, units, bytes: Math.ceil(rows / unitRows) * units * format.bytes };
}

/** Where a code is in a plane: the word, counted from the plane's start, and the lowest bit. */
interface CodePlace {
  readonly word: number;
  readonly bit: number;
}

/**
 * The place of the code of row `row` and weight `k` of a unit in a plane of `bits` bits. Words of a lane are stored four by four: 32 lanes, then the
 * next four words of each. A pair of chunks shares words of 1, 2 and 4 bits.
 */
export function placeOf(bits: CodePlane["bits"], row: number, k: number): CodePlace {
  const [lane, high] = [(row & 7) * 4 + ((k >> 2) & 3), row >> 3];
  const [chunk, element] = [k >> 4, k & 3];
  const [pair, odd] = [chunk >> 1, chunk & 1];
  // Neighbouring weights are 16 bits apart: a word masked is a pair of small numbers.
  const within = 16 * (element & 1);
  const word = (own: number): number => (own >> 2) * 128 + lane * 4 + (own & 3);
  switch (bits) {
    case 16:
      return { word: word(4 * chunk + 2 * (element >> 1) + high), bit: within };
    case 8:
      return { word: word(2 * chunk + high), bit: 8 * element };
    case 4:
      return { word: word(2 * pair + high), bit: within + 4 * (element >> 1) + 8 * odd };
    case 2:
      return { word: word(pair), bit: within + 4 * (element >> 1) + 8 * odd + 2 * high };
    case 1:
      return { word: word(pair >> 1), bit: within + 4 * (element >> 1) + 8 * odd + 2 * (pair & 1) + high };
  }
}
