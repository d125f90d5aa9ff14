import type { F32, U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";

/** The power of two that makes numbers up to `largest` the largest that f16 holds with room for their sums, and its inverse. */
export function halfScale(k: PtxEmitter, largest: F32): { readonly factor: F32; readonly inverse: F32 } {
  const exponent = k.min(k.max(k.shiftRight(k.bitcast("u32", largest), 23), 20), 254);
  const powerOfTwo = (biased: U32): F32 => k.bitcast("f32", k.shiftLeft(biased, 23));
  return { factor: powerOfTwo(k.sub(k.constant("u32", 268), exponent)), inverse: powerOfTwo(k.sub(exponent, 14)) };
}
