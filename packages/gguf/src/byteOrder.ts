/** Order of the bytes of a number. */
export type ByteOrder = "little" | "big";

/** Reverses each `width` bytes in place. */
export function swapBytes(bytes: Uint8Array, width: number): void {
  for (let at = 0; at + width <= bytes.length; at += width) {
    for (let low = at, high = at + width - 1; low < high; low++, high--) {
      const byte = bytes[low]!;
      bytes[low] = bytes[high]!;
      bytes[high] = byte;
    }
  }
}
