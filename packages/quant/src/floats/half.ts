/**
 * IEEE 754 binary16, the `ggml_half` of block scales and f16 tensors.
 *
 * 1 sign, 5 exponent (bias 15), 10 mantissa bits; exponent 0 is subnormal (`m * 2^-24`), 31 is inf or NaN.
 */
import { check, number } from "../checks.ts";
import { bitsOfFloat } from "./float32.ts";

// One load per scale instead of branches: every block of every format starts with at least one of these.
let table: Float32Array | undefined;

function halfTable(): Float32Array {
  if (table !== undefined) return table;
  const values = new Float32Array(65536);
  for (let exponent = 0; exponent < 32; exponent++) {
    // The leading 1 is not stored, but for the smallest exponent, which has none.
    const [leading, unit] = exponent === 0 ? [0, 2 ** -24] : [1024, 2 ** (exponent - 25)];
    for (let mantissa = 0; mantissa < 1024; mantissa++) {
      const value = exponent < 31 ? (leading + mantissa) * unit : mantissa === 0 ? Infinity : Number.NaN;
      values[(exponent << 10) | mantissa] = value;
      // A NaN has no sign here, whatever its bits.
      values[0x8000 | (exponent << 10) | mantissa] = Number.isNaN(value) ? value : -value;
    }
  }
  table = values;
  return values;
}

/** Value of the 16 bits `h`; exact. */
export function halfToFloat(h: number): number {
  if (typeof h !== "number") check("halfToFloat", "h", h, number);
  return (table ?? halfTable())[h & 0xffff]!;
}

/**
 * Bits of the half nearest to `f`, ties to even. `f` is taken as an f32 first, as in ggml. Too large gives inf, too small a
 * subnormal or zero of the same sign, NaN the quiet NaN 0x7e00 with the sign of `f`.
 */
export function floatToHalf(f: number): number {
  if (typeof f !== "number") check("floatToHalf", "f", f, number);
  const bits = bitsOfFloat(f);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65520 is halfway between the largest half and what would be the next one; the tie goes up, to inf.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below 2^-14 the spacing is a fixed 2^-24: adding 0.5, whose f32 spacing is 2^-24, rounds there, ties to even.
    return sign | (bitsOfFloat(Math.abs(Math.fround(f)) + 0.5) - 0x3f000000);
  }
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

/** The 16-bit little-endian number at byte `at`. */
export function halfWordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}

/** The 32-bit little-endian number at byte `at`. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return halfWordAt(bytes, at) | (halfWordAt(bytes, at + 2) << 16);
}

/** Half at byte `at` of little-endian `bytes`. */
export function halfAt(bytes: Uint8Array, at: number): number {
  return (table ?? halfTable())[halfWordAt(bytes, at)]!;
}

/** Writes `f` as a little-endian half at byte `at`. */
export function setHalfAt(bytes: Uint8Array, at: number, f: number): void {
  const h = floatToHalf(f);
  bytes[at] = h & 0xff;
  bytes[at + 1] = h >>> 8;
}
