import type { ConcreteSpec, DType, TypedArray } from "@centella/core";
import { deviceBytes, recodedTo, toDevice as toForm } from "@centella/gpu-kernels";

export { deviceBytes };

/** True for the block types that the device holds in another form. */
export function isRecoded(dtype: DType): boolean {
  return recodedTo(dtype) !== undefined;
}

/** A tensor's stored form as the bytes that its GPU buffer holds; a view if nothing changes. */
export function toDevice({ dtype }: ConcreteSpec, { buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return toForm(dtype, new Uint8Array(buffer, byteOffset, byteLength));
}

export function roundUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/** Bindings may not be empty, and copies and writes come in whole words; 16 also fits every WGSL element type. */
export function paddedBytes(bytes: number): number {
  return Math.max(16, roundUp(bytes, 16));
}
