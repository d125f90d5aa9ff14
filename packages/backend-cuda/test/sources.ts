import type { TensorSource, TypedArray } from "@centella/core";
import { bytesOf } from "../src/device/deviceTensor.ts";

/** A source of a stored form. */
export function sourceOf(stored: TypedArray): TensorSource {
  const bytes = bytesOf(stored);
  return { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length) };
}
