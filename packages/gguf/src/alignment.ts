import { GgufError } from "./errors.ts";

/** Alignment of tensors where a file has no `general.alignment`. */
const defaultAlignment = 32;

/** `general.alignment` of a file, or 32. @throws {GgufError} `invalid` */
export function alignmentOf(entry: { readonly type: string; readonly value: unknown } | undefined): number {
  if (entry === undefined) return defaultAlignment;
  const { type, value } = entry;
  if (type !== "u32" || typeof value !== "number" || value === 0 || (value & (value - 1)) !== 0) {
    const got = typeof value === "number" || typeof value === "bigint" ? `${type} ${value}` : type;
    throw new GgufError("invalid", { expected: "a power of two as u32 for key 'general.alignment'", got });
  }
  return value;
}

/** The smallest multiple of `alignment` from `offset` on. */
export function aligned(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}
