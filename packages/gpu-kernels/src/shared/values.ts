import type { DType } from "@centella/core";
import { decodedArrayOf, encode, layoutOf } from "@centella/core/backend";

/** Bits of a value in a plain dtype, zero-extended to 32. */
export function bitsOf(dtype: DType, value: number): number {
  const stored = encode({ dtype, shape: [1] }, decodedArrayOf(dtype).of(value));
  const bytes = new Uint8Array(stored.buffer, stored.byteOffset, layoutOf(dtype).bytes);
  return bytes.reduceRight((bits, byte) => bits * 256 + byte, 0);
}
