import { decodedArrayOf, isQuantized } from "../dtype.ts";
import { byteLength, type ConcreteSpec, elementCount } from "../spec.ts";

/** Bytes that a persistent occupies on the reference backend: decoded, plus its stored form if that is a block type. */
export function referenceBytes(spec: ConcreteSpec): number {
  const decoded = elementCount(spec.shape) * decodedArrayOf(spec.dtype).BYTES_PER_ELEMENT;
  return isQuantized(spec.dtype) ? decoded + byteLength(spec) : decoded;
}
