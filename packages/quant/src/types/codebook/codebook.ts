import { halfToFloat } from "../../floats/half.ts";
import type { Grid } from "./grids.ts";

/** Weights of a block of every codebook type. */
export const codebookBlock = 256;

/**
 * A type whose weights are points of a codebook, `dimensions` neighbouring weights each, in blocks of 256. A part is the weights of a
 * point, a group those that share a scale. The functions read the block at byte `at`. The value of a weight is
 *
 * `factor * d * (scale + 1/2) * levels[code]`
 *
 * where `code` is the value of the point, plus 8 if the weight's sign bit is set.
 */
export interface CodebookType {
  readonly grid: Grid;
  readonly dimensions: 4 | 8;
  /** Values of the numbers of the points, as ggml's tables have them. */
  readonly points: readonly number[];
  /** Values of the 16 codes; those that no weight has are 0. */
  readonly levels: readonly number[];
  readonly groupSize: 16 | 32;
  readonly factor: number;
  /** Bits of the f16 `d`. */
  d(bytes: Uint8Array, at: number): number;
  /** Scale of a group, 0 to 15. */
  scale(bytes: Uint8Array, at: number, group: number): number;
  /** Number of a part's point. */
  point(bytes: Uint8Array, at: number, part: number): number;
  /** Sign bits of a part's weights, the first one's lowest. Bits above those of four weights have no meaning. */
  signs(bytes: Uint8Array, at: number, part: number): number;
}

/** The levels of codes whose top bit is the sign of a point's value. */
export function signedLevels(magnitudes: readonly number[]): readonly number[] {
  const eight = Array.from({ length: 8 }, (_, code) => magnitudes[code] ?? 0);
  return [...eight, ...eight.map((level) => (level === 0 ? 0 : -level))];
}

/** Nibble `index` of the bytes from `at` on, low nibbles first. */
export function nibbleAt(bytes: Uint8Array, at: number, index: number): number {
  return (bytes[at + (index >> 1)]! >> (4 * (index & 1))) & 15;
}

/** Sign bits of four weights as bit 3 of each byte of a word. */
const signWords = Uint32Array.from({ length: 16 }, (_, signs) =>
  [0, 1, 2, 3].reduce((word, k) => word | (((signs >> k) & 1) << (8 * k + 3)), 0),
);

/** The codes of a block, one byte each. The array is overwritten by the next call. */
export type CodeReader = (bytes: Uint8Array, at: number) => Uint8Array;

/** A reader of the codes of blocks of a type. */
export function codeReader(type: CodebookType): CodeReader {
  const words = new Uint32Array(codebookBlock / 4);
  const codes = new Uint8Array(words.buffer);
  // Four codes of a point are a word.
  const grid = new Uint32Array(type.grid().buffer);
  const parts = codebookBlock / type.dimensions;
  if (type.dimensions === 4) {
    return (bytes, at) => {
      for (let part = 0; part < parts; part++)
        words[part] = grid[type.point(bytes, at, part)]! | signWords[type.signs(bytes, at, part) & 15]!;
      return codes;
    };
  }
  return (bytes, at) => {
    for (let part = 0; part < parts; part++) {
      const point = 2 * type.point(bytes, at, part);
      const signs = type.signs(bytes, at, part);
      words[2 * part] = grid[point]! | signWords[signs & 15]!;
      words[2 * part + 1] = grid[point + 1]! | signWords[signs >> 4]!;
    }
    return codes;
  };
}

/** The factor of the levels of a group's weights. */
export function scaleOf(type: CodebookType, bytes: Uint8Array, at: number, group: number): number {
  return type.factor * halfToFloat(type.d(bytes, at)) * (type.scale(bytes, at, group) + 0.5);
}

/** A function that decodes whole blocks of a codebook type of `blockBytes` bytes. */
export function codebookDequantizer(type: CodebookType, blockBytes: number): (bytes: Uint8Array, out: Float32Array) => void {
  const { levels, groupSize } = type;
  return (bytes, out) => {
    const read = codeReader(type);
    for (let at = 0, to = 0; at < bytes.length; at += blockBytes, to += codebookBlock) {
      const codes = read(bytes, at);
      for (let first = 0; first < codebookBlock; first += groupSize) {
        const scale = scaleOf(type, bytes, at, first / groupSize);
        for (let i = first; i < first + groupSize; i++) out[to + i] = scale * levels[codes[i]!]!;
      }
    }
  };
}
