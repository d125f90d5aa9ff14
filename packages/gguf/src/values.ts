import { GgufError } from "./errors.ts";
import { limits } from "./limits.ts";
import type { Cursor } from "./read/cursor.ts";
import { type ValueType, valueBytes, valueTypes } from "./read/metadata.ts";

interface NumericArrays {
  readonly u8: typeof Uint8Array;
  readonly i8: typeof Int8Array;
  readonly u16: typeof Uint16Array;
  readonly i16: typeof Int16Array;
  readonly u32: typeof Uint32Array;
  readonly i32: typeof Int32Array;
  readonly f32: typeof Float32Array;
  readonly u64: typeof BigUint64Array;
  readonly i64: typeof BigInt64Array;
  readonly f64: typeof Float64Array;
}

/** Least and greatest value of the integer types that a number holds. */
export const integerRanges: Readonly<Record<"u8" | "i8" | "u16" | "i16" | "u32" | "i32", readonly [min: number, max: number]>> = {
  u8: [0, 255],
  i8: [-128, 127],
  u16: [0, 65_535],
  i16: [-32_768, 32_767],
  u32: [0, 4_294_967_295],
  i32: [-2_147_483_648, 2_147_483_647],
};

/** The typed array of each numeric type. */
export const numericArrays: NumericArrays = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
};

/** Number of values that nested arrays and arrays of booleans may still create, for all keys of a file together. */
export interface Budget {
  nestedElements: number;
}

/** Reads the number of a value type. */
export async function readValueType(cursor: Cursor, what: string): Promise<ValueType> {
  await cursor.need(4, what);
  return valueTypeHere(cursor, () => what);
}

/** The same for four bytes that are in memory. */
export function valueTypeHere(cursor: Cursor, what: () => string): ValueType {
  const offset = cursor.offset;
  const id = cursor.u32();
  const type = valueTypes[id];
  if (type === undefined)
    throw new GgufError("invalid", { expected: `${what()} from 0 to ${valueTypes.length - 1}`, got: String(id), offset });
  return type;
}

/** Reads a count of 8 bytes and checks that the file is long enough for that many items. */
export async function readCount(cursor: Cursor, itemBytes: number, limit: number, what: string): Promise<number> {
  await cursor.need(8, `the number of ${what}`);
  const offset = cursor.offset;
  const count = cursor.u64();
  cursor.fits(count, itemBytes, what);
  if (count > BigInt(limit)) throw new GgufError("limit", { expected: `at most ${limit} ${what}`, got: String(count), offset });
  return Number(count);
}

// Keys and names are looked up by, so two that differ in invalid bytes must not become one.
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Reads a name: 1 to `limit` bytes of valid UTF-8. */
export async function readName(cursor: Cursor, limit: number, what: string): Promise<string> {
  return cursor.parse(() => {
    const length = scanLength(cursor, limit, () => what);
    return decodeName(cursor, length, () => what);
  });
}

/** Checks a key like a name and moves past it, within {@link Cursor.parse}. */
export function scanName(cursor: Cursor, limit: number, what: () => string): Uint8Array {
  const length = scanLength(cursor, limit, what);
  const bytes = cursor.peek(length);
  if (length > 0 && bytes.every((byte) => byte < 128)) cursor.skip(length);
  else decodeName(cursor, length, what);
  return bytes;
}

function decodeName(cursor: Cursor, length: number, what: () => string): string {
  const offset = cursor.offset;
  if (length === 0) throw new GgufError("invalid", { expected: what(), got: "an empty one", offset });
  try {
    const name = strictDecoder.decode(cursor.peek(length));
    cursor.skip(length);
    return name;
  } catch (cause) {
    throw new GgufError("invalid", { expected: `${what()} in UTF-8`, got: "invalid bytes", offset, cause });
  }
}

/**
 * Checks the array after the cursor (element type, count, elements) and moves past it. A large array is read piece by piece, so that no
 * element is checked twice.
 */
export async function scanArray(cursor: Cursor, what: string, budget: Budget, depth = 1): Promise<void> {
  const type = await readValueType(cursor, `the element type of ${what}`);
  const limit = type === "string" ? limits.strings : limits.headerBytes;
  const count = await readCount(cursor, valueBytes[type], limit, `elements of ${what}`);
  switch (type) {
    case "string":
      return scanStrings(cursor, count, what);
    case "bool":
      spend(budget, count, cursor, what);
      await cursor.need(count, what);
      for (let i = 0; i < count; i++) scanBool(cursor, () => what);
      return;
    case "array":
      if (depth >= limits.arrayDepth) {
        throw new GgufError("limit", {
          expected: `at most ${limits.arrayDepth} arrays within one another`,
          got: `more in ${what}`,
          offset: cursor.offset,
        });
      }
      spend(budget, count, cursor, what);
      for (let i = 0; i < count; i++) await scanArray(cursor, what, budget, depth + 1);
      return;
    default:
      await cursor.need(count * valueBytes[type], what);
      cursor.skip(count * valueBytes[type]);
  }
}

async function scanStrings(cursor: Cursor, count: number, what: string): Promise<void> {
  for (let i = 0; i < count; i++) {
    // The longest loop of a header. It is synchronous except at the end of the bytes in memory.
    if (cursor.available < 8) await cursor.need(8, what);
    const length = cursor.length64();
    if (cursor.available < length) await cursor.need(length, `string ${i} of ${what}`);
    cursor.skip(length);
  }
}

/** Checks a scalar and moves past it, within {@link Cursor.parse}. */
export function scanScalar(cursor: Cursor, type: Exclude<ValueType, "array">, what: () => string): void {
  switch (type) {
    case "string":
      cursor.skip(scanLength(cursor, limits.headerBytes, what));
      return;
    case "bool":
      cursor.have(1, what);
      scanBool(cursor, what);
      return;
    default:
      cursor.have(valueBytes[type], what);
      cursor.skip(valueBytes[type]);
  }
}

/** Reads a length of 8 bytes and checks that that many bytes follow in memory, within {@link Cursor.parse}. */
export function scanLength(cursor: Cursor, limit: number, what: () => string): number {
  cursor.have(8, () => `the number of bytes of ${what()}`);
  const offset = cursor.offset;
  const length = cursor.length64();
  if (length > cursor.remaining) {
    cursor.offset = offset;
    cursor.fits(cursor.u64(), 1, `bytes of ${what()}`);
  }
  if (length > limit) throw new GgufError("limit", { expected: `at most ${limit} bytes of ${what()}`, got: String(length), offset });
  cursor.have(length, what);
  return length;
}

function scanBool(cursor: Cursor, what: () => string): void {
  const offset = cursor.offset;
  const byte = cursor.u8();
  if (byte > 1) throw new GgufError("invalid", { expected: `0 or 1 for ${what()}`, got: String(byte), offset });
}

function spend(budget: Budget, count: number, cursor: Cursor, what: string): void {
  budget.nestedElements -= count;
  if (budget.nestedElements >= 0) return;
  throw new GgufError("limit", {
    expected: `at most ${limits.nestedElements} nested arrays and truth values in a file`,
    got: `${count} more in ${what}`,
    offset: cursor.offset,
  });
}
