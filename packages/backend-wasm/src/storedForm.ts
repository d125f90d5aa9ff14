import { type ConcreteSpec, type DType, elementCount, isQuantized, layoutOf } from "@centella/core";
import { dequantize } from "@centella/quant";
import { hasBlockFormat } from "./formats/index.ts";

/**
 * How elements of a dtype lie in WASM memory: block types with kernels stay as they are, other block types are decoded to f32 on the
 * way in. The one place that chooses a layout.
 */
export function memoryDType(dtype: DType): DType {
  return !isQuantized(dtype) || hasBlockFormat(dtype) ? dtype : "f32";
}

/** Bytes of a tensor in WASM memory, of which `stored` is the dtype there. */
export function memoryBytes({ shape }: ConcreteSpec, stored: DType): number {
  const { elements, bytes } = layoutOf(stored);
  return (elementCount(shape) / elements) * bytes;
}

/** Writes stored bytes (whole blocks of `dtype`) at an address, decoded if memory holds another form. Returns the bytes written. */
export function writeStored(dtype: DType, bytes: Uint8Array, u8: Uint8Array, address: number): number {
  if (!isQuantized(dtype) || memoryDType(dtype) === dtype) {
    u8.set(bytes, address);
    return bytes.length;
  }
  const { elements, bytes: blockBytes } = layoutOf(dtype);
  const count = (bytes.length / blockBytes) * elements;
  dequantize(dtype, bytes, new Float32Array(u8.buffer, address, count));
  return 4 * count;
}
