/** bfloat16: the upper half of an f32 (1 sign, 8 exponent, 7 mantissa bits). */
import { check, number } from "../checks.ts";

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** Value of the 16 bits `b`; exact. */
export function bfloatToFloat(b: number): number {
  if (typeof b !== "number") check("bfloatToFloat", "b", b, number);
  scratchBits[0] = (b & 0xffff) << 16;
  return scratch[0]!;
}

/** Bits of the bfloat nearest to `f` (taken as an f32 first), ties to even; NaN stays NaN, made quiet. */
export function floatToBfloat(f: number): number {
  if (typeof f !== "number") check("floatToBfloat", "f", f, number);
  scratch[0] = f;
  const bits = scratchBits[0]!;
  // Rounding a NaN could carry into inf, so its quiet bit is set instead.
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 64;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
