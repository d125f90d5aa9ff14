import type { F32, U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../ptx/builder.ts";
import type { ByteScales } from "./unitFormat.ts";

/** `value * factor` */
export function times(k: PtxBuilder, value: F32, factor: number): F32 {
  return factor === 1 ? value : k.mul(value, factor);
}

/** The scale that a byte is. */
export function scaleOfByte(k: PtxBuilder, { floats, zero }: ByteScales, byte: U32): F32 {
  switch (floats) {
    case undefined:
      return k.sub(k.convert("f32", byte), zero);
    case "e8m0": {
      // 2^(byte - 128) in two factors, of which only the product may be denormal.
      const half = k.shiftRight(byte, 1);
      const power = (exponent: U32): F32 => k.bitcast("f32", k.shiftLeft(k.add(exponent, 63), 23));
      return k.mul(power(half), power(k.sub(byte, half)));
    }
    case "ue4m3":
      return k.select(k.compare("eq", byte, 0x7f), k.constant("f32", 0), ue4m3(k, k.shiftLeft(k.and(byte, 0x7f), 20)));
  }
}

/**
 * The scales of four groups, the first one's in the lowest byte of `word`, with few instructions. Scales of e8m0 below 2^-126 count as 0: such
 * weights are below any rounding of their products.
 */
export function scalesOfWord(k: PtxBuilder, { floats, zero }: ByteScales, word: U32): (index: number) => F32 {
  switch (floats) {
    case undefined:
      return (index) => k.byteToFloat(word, index, zero);
    case "e8m0":
      // The byte becomes the exponent of an f32, less 1. Below 1 the sign is set.
      return (index) => {
        const bits = k.sub(k.bitcast("i32", k.and(shifted(k, word, 8 * index - 23), 0x7f800000)), 2 ** 23);
        return k.bitcast("f32", k.max(bits, 0));
      };
    case "ue4m3": {
      // Adding 1 to 0x7f sets the top bit of a byte; the bytes that have it are cleared.
      const bytes = k.and(word, 0x7f7f7f7f);
      const tops = k.and(k.add(bytes, 0x01010101), 0x80808080);
      const cleared = k.logic3((a, b) => a & ~b, bytes, k.sub(tops, k.shiftRight(tops, 7)), 0);
      return (index) => ue4m3(k, k.and(shifted(k, cleared, 8 * index - 20), 0x07f00000));
    }
  }
}

/** Half of a float with 4 bits of exponent and 3 of mantissa, which are those of an f32 but for the offset of the exponent. */
function ue4m3(k: PtxBuilder, bits: U32): F32 {
  return k.mul(k.bitcast("f32", bits), 2 ** 119);
}

/** A word with its bits moved down by `bits`, or up by `-bits`. */
export function shifted(k: PtxBuilder, word: U32, bits: number): U32 {
  if (bits === 0) return word;
  return bits > 0 ? k.shiftRight(word, bits) : k.shiftLeft(word, -bits);
}
