import type { TensorSource, TypedArray } from "@centella/core";

/** A source over an array, re-readable in any order. It copies at each read, as a file would. */
export function sourceOf(stored: TypedArray): TensorSource {
  const bytes = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
  return {
    size: bytes.length,
    async read(offset, length, signal) {
      signal?.throwIfAborted();
      if (offset < 0 || offset + length > bytes.length)
        throw new RangeError(`read: expected up to ${bytes.length}, got ${offset} + ${length}`);
      return bytes.slice(offset, offset + length);
    },
  };
}

/** A source whose reads all fail. */
export function failingSource(size: number): TensorSource {
  return {
    size,
    read: async () => {
      throw new Error("the disk is gone");
    },
  };
}
