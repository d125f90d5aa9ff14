import type { ConcreteSpec, DType, TypedArray } from "@centella/core";
import { decode, isQuantized, layoutOf } from "@centella/core/backend";
import { isNativeBlock } from "@centella/gpu-kernels";

/** True for the block types that no kernel reads: they are held as f32, which represents their values exactly. */
export function isDecoded(dtype: DType): boolean {
  return isQuantized(dtype) && !isNativeBlock(dtype);
}

/** The dtype of a tensor in device memory: its own, except for {@link isDecoded} types. */
export function residentDType(dtype: DType): DType {
  return isDecoded(dtype) ? "f32" : dtype;
}

/** Converts a stored form to the form in device memory. */
export function toResident(spec: ConcreteSpec, stored: TypedArray): TypedArray {
  return isDecoded(spec.dtype) ? decode(spec, stored) : stored;
}

/** Bytes of `elements` elements in device memory. */
export function residentBytes(dtype: DType, elements: number): number {
  const layout = layoutOf(residentDType(dtype));
  return (elements / layout.elements) * layout.bytes;
}
