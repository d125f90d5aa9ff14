import type { Range } from "../expression/types.ts";

/** A set of bytes: 256 bits in eight words. */
export type ByteSet = Uint32Array;

/** Returns the set of all bytes in `ranges`. */
export function byteSet(ranges: readonly Range[]): ByteSet {
  const set = new Uint32Array(8);
  for (const [first, last] of ranges) for (let byte = first; byte <= last; byte++) addBit(set, byte);
  return set;
}

/** Adds a member to a set of 32 bits per word. */
export function addBit(words: Uint32Array, member: number): void {
  words[member >> 5]! |= 1 << (member & 31);
}

/** Returns the bytes that are in either set. */
export function union(a: ByteSet, b: ByteSet): ByteSet {
  return a.map((bits, i) => bits | b[i]!);
}

/** Returns the bytes that are in both sets. */
export function intersection(a: ByteSet, b: ByteSet): ByteSet {
  const both = a.slice();
  narrow(both, b, true);
  return both;
}

/** Whether `set` contains `byte`. */
export function has(set: ByteSet, byte: number): boolean {
  return ((set[byte >> 5]! >>> (byte & 31)) & 1) === 1;
}

/** Removes from `target` the bytes that are in `set`, or with `keep` those that are not. */
export function narrow(target: ByteSet, set: ByteSet, keep: boolean): void {
  for (let i = 0; i < 8; i++) {
    const bits = set[i]!;
    target[i]! &= keep ? bits : ~bits;
  }
}
