import { decodedArrayOf, isQuantized } from "../dtype.ts";
import { byteLength, type ConcreteSpec, elementCount } from "../spec.ts";

/** Bytes that a persistent takes on the reference: decoded, and in addition as stored where that is in blocks. */
export function referenceBytes(spec: ConcreteSpec): number {
  const decoded = elementCount(spec.shape) * decodedArrayOf(spec.dtype).BYTES_PER_ELEMENT;
  return isQuantized(spec.dtype) ? decoded + byteLength(spec) : decoded;
}
