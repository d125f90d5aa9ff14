import { doubledE2m1, iq4Levels } from "../types/levels.ts";
import type { BlockType } from "../types/types.ts";

/** Bits of a number in a block: `bits` of them from bit `shift` of byte `at`. Pieces of one number are listed from its low bits up. */
export interface BitPiece {
  readonly at: number;
  readonly shift: number;
  readonly bits: number;
}

/** Small unsigned numbers of a block, such as the codes of its weights. */
export interface NumberLayout {
  /** How many the block has. */
  readonly count: number;
  /** Where the bits of number `index` are stored. */
  readonly pieces: (index: number) => readonly BitPiece[];
  /** Flips these bits, which turns a two's complement byte into an unsigned number with the offset 128. */
  readonly flip?: number;
}

/**
 * How a block type is split into planes, arrays of one kind of number each. The value of a weight is
 *
 * `factor * d * scale * level + sign * dmin * min`
 *
 * where `level` is `levels[code]`, or `code - codeOffset`; `scale` is the float with the bits `s`, or `s - scaleOffset`, of the weight's
 * group; and `factor`, `d`, `scale`, `dmin` and `min` are 1 where the type has none (without `dmin` there is no second term). Source: the
 * structs of ggml-common.h and the `dequantize_row_*` functions of ggml-quants.c.
 */
export interface PlaneLayout {
  /** Bits of a weight's code: 1, 2, 3, 4, 5, 6 or 8. */
  readonly codeBits: number;
  /** Weights that share a scale and a minimum; a whole number of groups makes a block. */
  readonly groupSize: number;
  readonly codes: NumberLayout;
  readonly codeOffset?: number;
  /** Values of the codes, where they are not evenly spaced. */
  readonly levels?: readonly number[];
  readonly scales?: NumberLayout;
  readonly scaleOffset?: number;
  /**
   * Small floats that the scales are: e8m0 is `2 ** (s - 127)`, ue4m3 has 4 bits of exponent and 3 of mantissa, with 0 in place of NaN. The
   * scales are half of the floats, because the levels of their types are doubled.
   */
  readonly scaleFloats?: "e8m0" | "ue4m3";
  readonly minima?: NumberLayout;
  readonly factor?: number;
  /** Byte of the block at which the f16 `d` is stored. */
  readonly d?: number;
  /** Byte of the block at which the f16 `dmin` is stored. */
  readonly dmin?: number;
  readonly sign?: 1 | -1;
}

export const piece = (at: number, shift: number, bits: number): BitPiece => ({ at, shift, bits });

/** Nibbles from byte `at`: the low ones of `half` bytes are the first `half` codes, the high ones the next, and so on. */
export function nibbles(at: number, half: number): (index: number) => BitPiece {
  return (index) => {
    const run = Math.floor(index / (2 * half));
    const within = index % (2 * half);
    return piece(at + run * half + (within % half), within < half ? 0 : 4, 4);
  };
}

/** Bit pairs of q2_K and q3_K from byte `at`: 32 bytes hold 128 codes. */
const pairs = (at: number) => (index: number) => piece(at + (index >> 7) * 32 + (index & 31), 2 * ((index >> 5) & 3), 2);

/** The one bit of number `index` that a mask of bits from byte `at` holds, `index & 7` in byte `index >> 3`. */
const bit = (at: number) => (index: number) => piece(at + (index >> 3), index & 7, 1);

/** Bit `index >> 5` of the byte at `at + (index & 31)`. */
const plane = (at: number) => (index: number) => piece(at + (index & 31), index >> 5, 1);

/** Bytes from byte `at`. */
export function bytes(at: number): NumberLayout["pieces"] {
  return (index) => [piece(at + index, 0, 8)];
}

/** The scales (`which` 0) or minima (4) of q4_K and q5_K in the 12 bytes from byte 4. Source: `get_scale_min_k4` of ggml-quants.c. */
const kNumbers = (which: 0 | 4): NumberLayout => ({
  count: 8,
  pieces: (j) => (j < 4 ? [piece(4 + j + which, 0, 6)] : [piece(8 + j, which, 4), piece(j + which, 6, 2)]),
});

export const each = (count: number, ...parts: readonly ((index: number) => BitPiece)[]): NumberLayout => ({
  count,
  pieces: (index) => parts.map((part) => part(index)),
});

/** q4_K and q5_K. */
function kAffine(codeBits: number, codes: NumberLayout): PlaneLayout {
  return { codeBits, groupSize: 32, codes, d: 0, dmin: 2, sign: -1, scales: kNumbers(0), minima: kNumbers(4) };
}

/** Types whose weights are codes of 1 to 8 bits. */
export const planeLayouts: Readonly<Partial<Record<BlockType, PlaneLayout>>> = {
  q1_0: { codeBits: 1, groupSize: 128, d: 0, levels: [-1, 1], codes: each(128, bit(2)) },
  q2_0: {
    codeBits: 2,
    groupSize: 64,
    d: 0,
    codeOffset: 1,
    codes: each(64, (index) => piece(2 + (index >> 2), 2 * (index & 3), 2)),
  },
  q4_0: { codeBits: 4, groupSize: 32, d: 0, codeOffset: 8, codes: each(32, nibbles(2, 16)) },
  q4_1: { codeBits: 4, groupSize: 32, d: 0, dmin: 2, sign: 1, codes: each(32, nibbles(4, 16)) },
  q5_0: { codeBits: 5, groupSize: 32, d: 0, codeOffset: 16, codes: each(32, nibbles(6, 16), bit(2)) },
  q5_1: { codeBits: 5, groupSize: 32, d: 0, dmin: 2, sign: 1, codes: each(32, nibbles(8, 16), bit(4)) },
  q8_0: { codeBits: 8, groupSize: 32, d: 0, codeOffset: 128, codes: { count: 32, pieces: bytes(2), flip: 128 } },
  q2_K: {
    codeBits: 2,
    groupSize: 16,
    d: 80,
    dmin: 82,
    sign: -1,
    codes: each(256, pairs(16)),
    scales: each(16, (index) => piece(index, 0, 4)),
    minima: each(16, (index) => piece(index, 4, 4)),
  },
  q3_K: {
    codeBits: 3,
    groupSize: 16,
    d: 108,
    codeOffset: 4,
    scaleOffset: 32,
    codes: each(256, pairs(32), plane(0)),
    scales: each(
      16,
      (index) => piece(96 + (index & 7), index < 8 ? 0 : 4, 4),
      (index) => piece(104 + (index & 3), 2 * (index >> 2), 2),
    ),
  },
  q4_K: kAffine(4, each(256, nibbles(16, 32))),
  q5_K: kAffine(5, each(256, nibbles(48, 32), plane(16))),
  q6_K: {
    codeBits: 6,
    groupSize: 16,
    d: 208,
    codeOffset: 32,
    scaleOffset: 128,
    codes: each(
      256,
      (index) => piece((index >> 7) * 64 + (index & 63), index & 64 ? 4 : 0, 4),
      (index) => piece(128 + (index >> 7) * 32 + (index & 31), 2 * ((index >> 5) & 3), 2),
    ),
    scales: { count: 16, pieces: bytes(192), flip: 128 },
  },
  iq4_nl: { codeBits: 4, groupSize: 32, d: 0, levels: iq4Levels, codes: each(32, nibbles(2, 16)) },
  iq4_xs: {
    codeBits: 4,
    groupSize: 32,
    d: 0,
    levels: iq4Levels,
    scaleOffset: 32,
    codes: each(256, nibbles(8, 16)),
    scales: each(
      8,
      (index) => piece(4 + (index >> 1), 4 * (index & 1), 4),
      (index) => piece(2 + (index >> 2), 2 * (index & 3), 2),
    ),
  },
  tq2_0: { codeBits: 2, groupSize: 256, d: 64, codeOffset: 1, codes: each(256, pairs(0)) },
  mxfp4: {
    codeBits: 4,
    groupSize: 32,
    levels: doubledE2m1,
    scaleFloats: "e8m0",
    codes: each(32, nibbles(1, 16)),
    scales: { count: 1, pieces: bytes(0) },
  },
  nvfp4: {
    codeBits: 4,
    groupSize: 16,
    levels: doubledE2m1,
    scaleFloats: "ue4m3",
    codes: each(64, nibbles(4, 8)),
    scales: { count: 4, pieces: bytes(0) },
  },
};
