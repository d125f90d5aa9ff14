import type { TypedArray } from "@centella/core";

/**
 * Memory whose content is undefined, for results that fill it. Zeros would cost more than the copy: they are fresh pages, which the system
 * hands out one fault at a time.
 */
export function unfilled(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer);
}

export function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Like `array.slice()`, without zeros. */
export function copyOf(array: TypedArray): TypedArray {
  const bytes = unfilled(array.byteLength);
  bytes.set(bytesOf(array));
  return new (array.constructor as new (buffer: ArrayBuffer) => TypedArray)(bytes.buffer);
}
