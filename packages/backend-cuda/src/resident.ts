import { type ConcreteSpec, type DType, decode, isQuantized, layoutOf, type TypedArray } from "@centella/core";

/** The dtype in which a tensor lies in device memory: block types as f32, which holds their values exactly; the others as they are. */
export function residentDType(dtype: DType): DType {
  return isQuantized(dtype) ? "f32" : dtype;
}

/** Stored form to resident form. */
export function toResident(spec: ConcreteSpec, stored: TypedArray): TypedArray {
  return isQuantized(spec.dtype) ? decode(spec, stored) : stored;
}

/** Bytes of `elements` elements in device memory. */
export function residentBytes(dtype: DType, elements: number): number {
  return elements * layoutOf(residentDType(dtype)).bytes;
}
