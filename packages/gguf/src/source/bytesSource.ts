import type { ByteSource } from "./byteSource.ts";

/** Bytes in memory as a source. */
export function bytesSource(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}
