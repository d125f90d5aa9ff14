import type { ConcreteSpec, DType, TypedArray } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import { deviceBytes as formBytes, recodedTo, toDevice as toForm } from "@centella/gpu-kernels";

/**
 * Bytes from a block to the next one, for types whose blocks have zeros between them: kernels read words of 16 bytes where blocks begin at
 * a multiple of 16.
 */
const spacedBlocks: Readonly<Partial<Record<DType, number>>> = { q6_K: 224 };

/** Bytes from a block of a type to the next one in device memory, if its blocks are spaced. */
export function blockStride(dtype: DType): number | undefined {
  return spacedBlocks[dtype];
}

/** Bytes of a tensor in device memory. */
export function deviceBytes(spec: ConcreteSpec): number {
  const stride = blockStride(spec.dtype);
  return stride === undefined ? formBytes(spec) : (formBytes(spec) / layoutOf(spec.dtype).bytes) * stride;
}

/** True for the block types that the device holds in a form from which the stored one cannot be had. */
export function isRecoded(dtype: DType): boolean {
  return recodedTo(dtype) !== undefined;
}

/** A tensor's stored form as the bytes that its GPU buffer holds; a view if nothing changes. */
export function toDevice({ dtype }: ConcreteSpec, { buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  const stored = new Uint8Array(buffer, byteOffset, byteLength);
  const stride = blockStride(dtype);
  if (stride === undefined) return toForm(dtype, stored);
  const spaced = new Uint8Array((byteLength / layoutOf(dtype).bytes) * stride);
  spaceBlocks(dtype, stored, spaced);
  return spaced;
}

/** Copies blocks of a type whose blocks are spaced to memory of any content, and zeros between them. */
export function spaceBlocks(dtype: DType, stored: Uint8Array, target: Uint8Array): void {
  const { bytes } = layoutOf(dtype);
  const stride = blockStride(dtype) ?? bytes;
  for (let from = 0, to = 0; from < stored.length; from += bytes, to += stride) {
    target.set(stored.subarray(from, from + bytes), to);
    target.fill(0, to + bytes, to + stride);
  }
}

/** Copies a tensor's bytes as device memory holds them to its stored form, of `target.length` bytes. */
export function copyFromDevice(dtype: DType, held: Uint8Array, target: Uint8Array): void {
  const { bytes } = layoutOf(dtype);
  const stride = blockStride(dtype);
  if (stride === undefined) target.set(held);
  else for (let from = 0, to = 0; to < target.length; from += stride, to += bytes) target.set(held.subarray(from, from + bytes), to);
}

export function roundUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple;
}

/** Bytes of a copy or write of `bytes` bytes, which WebGPU accepts only in whole words. */
export function copyBytes(bytes: number): number {
  return roundUp(bytes, 4);
}

/** Bindings may not be empty, and copies and writes come in whole words; 16 also fits every WGSL element type. */
export function paddedBytes(bytes: number): number {
  return Math.max(16, roundUp(bytes, 16));
}
