import type { Range } from "../expression/types.ts";

/** A set of bytes: 256 bits in eight words. */
export type ByteSet = Uint32Array;

/** Returns the set of all bytes in `ranges`. */
export function byteSet(ranges: readonly Range[]): ByteSet {
  const set = new Uint32Array(8);
  for (const [first, last] of ranges) for (let byte = first; byte <= last; byte++) set[byte >> 5]! |= 1 << (byte & 31);
  return set;
}

/** Whether `set` contains `byte`. */
export function has(set: ByteSet, byte: number): boolean {
  return ((set[byte >> 5]! >>> (byte & 31)) & 1) === 1;
}

/** Removes from `target` the bytes that are in `set`, or with `keep` those that are not. */
export function narrow(target: ByteSet, set: ByteSet, keep: boolean): void {
  for (let i = 0; i < 8; i++) target[i]! &= keep ? set[i]! : ~set[i]!;
}
