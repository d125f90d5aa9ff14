import type { DType } from "@centella/core";
import { entryOf, isQuantized } from "@centella/core/backend";
import { type BlockType, type NumberLayout, type PlaneLayout, planeLayout, recodedForm } from "@centella/quant";
import { halfPlace } from "./halfRows.ts";

/** Rows of a unit: those of the left matrix of `mma.m16n8k16`. */
export const unitRows = 16;

/** Bits `from` to `from + bits - 1` of all codes of a unit. */
export interface CodePlane {
  readonly bits: 1 | 2 | 4 | 8 | 16;
  readonly from: number;
  /** Whether words have the codes of neighbouring weights next to each other, for look-ups. */
  readonly isInOrder?: boolean;
  /** Byte of the unit at which it starts. */
  readonly offset: number;
}

/** How the codes of a group become weights; the numbers are bytes of the unit at which the values start. */
export type UnitScales =
  /** Weights are stored as they are. */
  | { readonly kind: "none" }
  /** `factor * d * level + m`: an f16 `d` per row and group, and an f16 `m` where the type has it. */
  | { readonly kind: "halves"; readonly d: number; readonly m?: number; readonly factor: number }
  | ByteScales
  /** `d * scale * level - dmin * min`: four bits each per row and group, in one byte, and two f16 per row. */
  | { readonly kind: "nibbles"; readonly scales: number; readonly d: number }
  /** The same with six bits each. */
  | { readonly kind: "sixBits"; readonly low: number; readonly high: number; readonly d: number };

/** `factor * d * scale * level`: a byte per row and group, and an f16 `d` per row where the type has it. */
export interface ByteScales {
  readonly kind: "bytes";
  readonly scales: number;
  /** Floats that the bytes are; otherwise the scale is the byte less `zero`. See {@link PlaneLayout}. */
  readonly floats: PlaneLayout["scaleFloats"];
  readonly zero: number;
  readonly d: number | undefined;
  readonly factor: number;
}

/**
 * The form of a weight matrix on the device: units of 16 rows x `width` weights, [row tile][unit of the row]. The codes are in the order in
 * which the lanes of a warp hand them to `mma.m16n8k16`. A unit is a multiple of 128 bytes, which one bulk copy moves at full speed. A unit of f16 or
 * bf16 is what products of warpgroups read as 16 rows of their right matrix, too: see {@link halfPlace}.
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
  /** Whole numbers that codes stand for, from -128 to 127. */
  readonly levels: readonly number[] | undefined;
  /** A weight's level is its code less this, unless there are {@link levels}. */
  readonly zero: number;
  readonly scales: UnitScales;
  readonly bytes: number;
  /** How the blocks are split that units are packed from. Undefined for f16 and bf16. */
  readonly stored: PlaneLayout | undefined;
}

/** Bits of the planes of codes, by the bits of the codes. */
const planesOfBits: ReadonlyMap<number, readonly CodePlane["bits"][]> = new Map([
  [1, [1]],
  [2, [2]],
  [3, [2, 1]],
  [4, [4]],
  [5, [4, 1]],
  [6, [4, 2]],
  [8, [8]],
]);

const formats = new Map<DType, UnitFormat | undefined>();

/** The unit format of a type, or undefined for types that stay in stored form. */
export function unitFormat(dtype: DType): UnitFormat | undefined {
  if (!formats.has(dtype)) formats.set(dtype, createFormat(dtype));
  return formats.get(dtype);
}

function createFormat(dtype: DType): UnitFormat | undefined {
  if (dtype === "f16" || dtype === "bf16") {
    const planes: readonly CodePlane[] = [{ bits: 16, from: 0, offset: 0 }];
    const plain = { dtype, width: 64, groupSize: 32, planes, levels: undefined, zero: 0, scales: { kind: "none" } } as const;
    return { ...plain, bytes: 2048, stored: undefined };
  }
  if (!isQuantized(dtype)) return undefined;
  const stored = recodedForm(dtype)?.layout ?? planeLayout(dtype);
  return stored && formatOf(dtype, stored);
}

function formatOf(dtype: BlockType, stored: PlaneLayout): UnitFormat {
  const width = 256;
  // Groups of more weights have their scale several times.
  const groupSize = stored.groupSize === 16 ? 16 : 32;
  const { levels, zero, step } = levelsOf(stored);
  let end = 0;
  const take = (bytes: number): number => {
    end += bytes;
    return end - bytes;
  };
  let from = 0;
  const planes = entryOf(planesOfBits, stored.codeBits).map((bits): CodePlane => {
    const plane = { bits, from, offset: take((unitRows * width * bits) / 8), isInOrder: levels !== undefined };
    from += bits;
    return plane;
  });
  const scales = scalesOf({ ...stored, factor: (stored.factor ?? 1) * step }, width / groupSize, take);
  return { dtype, width, groupSize, planes, levels, zero, scales, bytes: Math.ceil(end / 128) * 128, stored };
}

/** The levels of codes: `step` times those of a list, or times the code less `zero`. */
function levelsOf({ levels, codeOffset = 0 }: PlaneLayout): Pick<UnitFormat, "levels" | "zero"> & { readonly step: number } {
  if (levels === undefined) return { levels, zero: codeOffset, step: 1 };
  const [first = 0, second = 0] = levels;
  // Two levels are evenly spaced.
  return levels.length === 2 ? { levels: undefined, zero: -first / (second - first), step: second - first } : { levels, zero: 0, step: 1 };
}

function scalesOf(stored: PlaneLayout, groups: number, take: (bytes: number) => number): UnitScales {
  const { scales, scaleOffset: zero = 0, scaleFloats: floats, minima, d, dmin, factor = 1 } = stored;
  if (scales === undefined) {
    const halves = { kind: "halves", d: take(2 * unitRows * groups), factor } as const;
    return dmin === undefined ? halves : { ...halves, m: take(2 * unitRows * groups) };
  }
  if (minima === undefined) {
    const bytes = { kind: "bytes", scales: take(unitRows * groups), floats, zero, factor } as const;
    return { ...bytes, d: d === undefined ? undefined : take(2 * unitRows) };
  }
  if (bitsOf(scales) === 4) return { kind: "nibbles", scales: take(unitRows * groups), d: take(4 * unitRows) };
  return { kind: "sixBits", low: take(unitRows * groups), high: take((unitRows * groups) / 2), d: take(4 * unitRows) };
}

function bitsOf({ pieces }: NumberLayout): number {
  return pieces(0).reduce((sum, { bits }) => sum + bits, 0);
}

/** Whether weights are stored as they are, as f16 or bf16. */
export function isPlain({ scales }: UnitFormat): boolean {
  return scales.kind === "none";
}

/** A weight matrix in units. */
export interface UnitMatrix {
  readonly format: UnitFormat;
  /** Rows of all matrices of the tensor. */
  readonly rows: number;
  readonly columns: number;
  /** Row tiles, and units of each. */
  readonly tiles: number;
  readonly units: number;
  /** Bytes of the units, and the same with the powers of two that follow them. See {@link hasTilePower}. */
  readonly unitBytes: number;
  readonly bytes: number;
}

/** Whether the weights of each row tile are multiplied by a power of two of their own. Formats without scales have none. */
export function hasTilePower(format: UnitFormat): boolean {
  return !isPlain(format);
}

/** Bytes of a row tile's power of two and of its inverse. */
const tilePowerBytes = 8;

/** The form in units of a tensor whose last axis has whole blocks; undefined where its type or its extents have none. */
export function unitMatrix(dtype: DType, shape: readonly number[]): UnitMatrix | undefined {
  const format = unitFormat(dtype);
  const columns = shape.at(-1) ?? 0;
  const rows = shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
  // Rows of activations are read 16 bytes at a time.
  if (format === undefined || shape.length < 2 || rows === 0 || columns === 0 || columns % 8 !== 0) return undefined;
  const units = Math.ceil(columns / format.width);
  const tiles = Math.ceil(rows / unitRows);
  const unitBytes = tiles * units * format.bytes;
  const powerBytes = hasTilePower(format) ? tiles * tilePowerBytes : 0;
  return { format, rows, columns, tiles, units, unitBytes, bytes: unitBytes + powerBytes };
}

/** Where a code is in a plane: the word, counted from the plane's start, and the lowest bit. */
interface CodePlace {
  readonly word: number;
  readonly bit: number;
}

/**
 * The place of the code of row `row` and weight `k` of a unit in a plane. Words of a lane are stored four by four: 32 lanes, then the next four
 * words of each. A pair of chunks shares words of 1, 2 and 4 bits.
 */
export function placeOf({ bits, isInOrder = false }: Pick<CodePlane, "bits" | "isInOrder">, row: number, k: number): CodePlace {
  const [lane, high] = [(row & 7) * 4 + ((k >> 2) & 3), row >> 3];
  const [chunk, element] = [k >> 4, k & 3];
  const [pair, odd] = [chunk >> 1, chunk & 1];
  // Neighbouring weights are 16 bits apart: a word masked is a pair of small numbers.
  const apart = 16 * (element & 1);
  const within = apart + 4 * (element >> 1) + 8 * odd;
  const word = (own: number): number => (own >> 2) * 128 + lane * 4 + (own & 3);
  switch (bits) {
    case 16:
      return { word: halfPlace(row, k) >> 1, bit: apart };
    case 8:
      return { word: word(2 * chunk + high), bit: 8 * element };
    case 4:
      return { word: word(2 * pair + high), bit: isInOrder ? 4 * element + 16 * odd : within };
    case 2:
      return { word: word(pair), bit: within + 2 * high };
    case 1:
      return { word: word(pair >> 1), bit: within + 2 * (pair & 1) + high };
  }
}
