import { type FunctionBuilder, i8x16, i16x8, i32x4, relaxed, type V128, v128 } from "../emit/index.ts";
import type { Target } from "../target.ts";

/** The low four bits of 16 bytes. */
export function lowNibbles(f: FunctionBuilder, bytes: V128): V128 {
  return v128.and(bytes, f.splatBits(0x0f0f0f0f));
}

/** The high four bits of 16 bytes. */
export function highNibbles(f: FunctionBuilder, bytes: V128): V128 {
  return v128.and(i16x8.shrU(bytes, 4), f.splatBits(0x0f0f0f0f));
}

/** Low or high nibbles of 16 bytes. */
export function nibbles(f: FunctionBuilder, bytes: V128, areHigh: boolean): V128 {
  return areHigh ? highNibbles(f, bytes) : lowNibbles(f, bytes);
}

/** `count` bits of each byte, moved from bit `from` to bit `to`. */
export function moveBits(f: FunctionBuilder, bytes: V128, from: number, count: number, to: number): V128 {
  const shift = to - from;
  const moved = shift > 0 ? i32x4.shl(bytes, shift) : shift < 0 ? i32x4.shrU(bytes, -shift) : bytes;
  return v128.and(moved, f.splatBits((((1 << count) - 1) << to) * 0x01010101));
}

/** Looks up 16 indices from 0 to 15 in a table of 16 bytes. */
export function lookUp(f: FunctionBuilder, target: Target, table: readonly number[], index: V128): V128 {
  const entries = f.pooled(Uint8Array.from(table));
  return target.relaxed ? relaxed.swizzle(entries, index) : i8x16.swizzle(entries, index);
}
