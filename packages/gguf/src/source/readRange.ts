import { GgufError } from "../errors.ts";

/** @throws {GgufError} `range` for bytes outside of a source of `size` bytes */
export function requireWithin(size: number, offset: number, length: number): void {
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0 || offset + length > size)
    throw new GgufError("range", { expected: `a range within ${size} bytes`, got: `${length} bytes`, offset });
}

/** @throws {GgufError} `truncated` if a source returned fewer bytes than it should have */
export function requireAll(offset: number, expected: number, got: number): void {
  if (got === expected) return;
  const hint = "the source is shorter than its size; open it again";
  throw new GgufError("truncated", { expected: `${expected} bytes`, got: `${got}`, offset, hint });
}
