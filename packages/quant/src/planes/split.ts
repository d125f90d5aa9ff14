import { halfToFloat, halfWordAt } from "../floats/half.ts";
import { halvedE4m3 } from "../types/nvfp4.ts";
import type { NumberLayout, PlaneLayout } from "./layouts.ts";

/** Weights of a block type as arrays of one kind of number each, in the order of the weights. See {@link PlaneLayout} for their value. */
export interface Planes {
  /** A code of `codeBits` bits per weight. */
  readonly codes: Uint8Array;
  /** A scale per group, where the type has them. */
  readonly scales: Uint8Array | undefined;
  /** A minimum per group, where the type has them. */
  readonly minima: Uint8Array | undefined;
  /** Bits of an f16 per block, where the type has it. */
  readonly d: Uint16Array | undefined;
  /** Bits of an f16 per block, where the type has it. */
  readonly dmin: Uint16Array | undefined;
}

/** Splits whole blocks of `blockBytes` bytes. */
export function splitBlocks({ codes, scales, minima, d, dmin }: PlaneLayout, blockBytes: number, bytes: Uint8Array): Planes {
  const blocks = bytes.length / blockBytes;
  const numbers = (each: NumberLayout): Uint8Array => readNumbers(bytes, blocks, blockBytes, each);
  const halves = (at: number | undefined): Uint16Array | undefined =>
    at === undefined ? undefined : readHalves(bytes, blocks, blockBytes, at);
  return { codes: numbers(codes), scales: scales && numbers(scales), minima: minima && numbers(minima), d: halves(d), dmin: halves(dmin) };
}

/** Returns a code's level. */
export function levelReader({ levels, codeOffset = 0 }: PlaneLayout): (code: number) => number {
  return (code) => levels?.[code] ?? code - codeOffset;
}

/** Returns the factor of a group's levels. */
export function scaleReader(layout: PlaneLayout, { scales, d }: Planes): (group: number) => number {
  const { factor = 1, scaleOffset = 0, scaleFloats, codes, groupSize } = layout;
  const scaleOf = (scale: number | undefined): number => {
    if (scale === undefined) return 1;
    if (scaleFloats === undefined) return scale - scaleOffset;
    return scaleFloats === "e8m0" ? 2 ** (scale - 128) : halvedE4m3(scale);
  };
  return (group) => factor * halfOr(d?.[Math.floor((group * groupSize) / codes.count)], 1) * scaleOf(scales?.[group]);
}

/** The f16 with these bits, or a default. */
export function halfOr(bits: number | undefined, absent: number): number {
  return bits === undefined ? absent : halfToFloat(bits);
}

/** The pieces of all numbers of a block as flat tuples `number, byte, shift, mask, shift in the number`. */
export function flatPieces({ count, pieces }: NumberLayout): Int32Array {
  const flat: number[] = [];
  for (let index = 0; index < count; index++) {
    let within = 0;
    for (const { at, shift, bits } of pieces(index)) {
      flat.push(index, at, shift, (1 << bits) - 1, within);
      within += bits;
    }
  }
  return Int32Array.from(flat);
}

function readNumbers(bytes: Uint8Array, blocks: number, blockBytes: number, layout: NumberLayout): Uint8Array {
  const flat = flatPieces(layout);
  const numbers = new Uint8Array(blocks * layout.count).fill(layout.flip ?? 0);
  for (let block = 0; block < blocks; block++) {
    const [first, from] = [block * layout.count, block * blockBytes];
    for (let i = 0; i < flat.length; i += 5)
      numbers[first + flat[i]!]! ^= ((bytes[from + flat[i + 1]!]! >> flat[i + 2]!) & flat[i + 3]!) << flat[i + 4]!;
  }
  return numbers;
}

function readHalves(bytes: Uint8Array, blocks: number, blockBytes: number, at: number): Uint16Array {
  return Uint16Array.from({ length: blocks }, (_, block) => halfWordAt(bytes, block * blockBytes + at));
}
