import type { ConcreteSpec, DType, TypedArray } from "@centella/core";
import { byteLength, decode, isQuantized } from "@centella/core/backend";
import { isNativeBlock } from "@centella/gpu-kernels";

/** True for the block types that no kernel reads: they are stored as f32. */
export function isDecoded(dtype: DType): boolean {
  return isQuantized(dtype) && !isNativeBlock(dtype);
}

/** The dtype of a tensor in a GPU buffer: its own, except for {@link isDecoded} types. */
export function deviceType(dtype: DType): DType {
  return isDecoded(dtype) ? "f32" : dtype;
}

/** Bytes of a tensor in a GPU buffer. */
export function deviceBytes({ dtype, shape }: ConcreteSpec): number {
  return byteLength({ dtype: deviceType(dtype), shape });
}

/** A tensor's stored form as the bytes that its GPU buffer holds; a view if nothing changes. */
export function toDevice(spec: ConcreteSpec, stored: TypedArray): Uint8Array {
  const { buffer, byteOffset, byteLength: length } = isDecoded(spec.dtype) ? decode(spec, stored) : stored;
  return new Uint8Array(buffer, byteOffset, length);
}

export function roundUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/** Bindings may not be empty, and copies and writes come in whole words; 16 also fits every WGSL element type. */
export function paddedBytes(bytes: number): number {
  return Math.max(16, roundUp(bytes, 16));
}
