import type { Cursor } from "./cursor.ts";
import { GgufError } from "./errors.ts";
import { limits } from "./limits.ts";
import { type MetadataArray, type MetadataValue, type ValueType, valueTypes } from "./metadata.ts";
import { StringTable } from "./stringTable.ts";

/** Least bytes that a value of each type takes. */
const minimumBytes: Readonly<Record<ValueType, number>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  string: 8,
  array: 12,
  u64: 8,
  i64: 8,
  f64: 8,
};

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

/** Values that may still be made of nested arrays and truth values; shared by all keys of a file. */
export interface Budget {
  nestedElements: number;
}

/** Reads the number of a value type. */
export async function readValueType(cursor: Cursor, what: string): Promise<ValueType> {
  await cursor.need(4, what);
  const offset = cursor.offset;
  const id = cursor.u32();
  const type = valueTypes[id];
  if (type === undefined)
    throw new GgufError("invalid", { expected: `${what} from 0 to ${valueTypes.length - 1}`, got: String(id), offset });
  return type;
}

/** Reads a count or length of 8 bytes and checks that so many items can follow. */
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
const lenientDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads a key or a name: 1 to `limit` bytes of valid UTF-8. */
export async function readName(cursor: Cursor, limit: number, what: string): Promise<string> {
  const length = await readCount(cursor, 1, limit, `bytes of ${what}`);
  if (length === 0) throw new GgufError("invalid", { expected: what, got: "an empty one", offset: cursor.offset });
  await cursor.need(length, what);
  const offset = cursor.offset;
  try {
    return strictDecoder.decode(cursor.bytes(length));
  } catch (cause) {
    throw new GgufError("invalid", { expected: `${what} in UTF-8`, got: "invalid bytes", offset, cause });
  }
}

/** Reads one value; `what` names it in errors. */
export async function readValue(
  cursor: Cursor,
  type: Exclude<ValueType, "array">,
  what: string,
): Promise<Exclude<MetadataValue, MetadataArray>> {
  await cursor.need(minimumBytes[type], what);
  switch (type) {
    case "string": {
      const length = await readCount(cursor, 1, limits.headerBytes, `bytes of ${what}`);
      await cursor.need(length, what);
      return lenientDecoder.decode(cursor.bytes(length));
    }
    case "bool":
      return readBool(cursor, what);
    case "u64":
      return plainInteger(cursor.u64());
    case "i64":
      return plainInteger(cursor.i64());
    default:
      return cursor[type]();
  }
}

/** Reads the element type, the count and the elements of an array. */
export async function readArray(
  cursor: Cursor,
  what: string,
  budget: Budget,
  depth = 1,
): Promise<{ readonly elementType: ValueType; readonly value: MetadataArray }> {
  const elementType = await readValueType(cursor, `the element type of ${what}`);
  const limit = elementType === "string" ? limits.strings : limits.headerBytes;
  const count = await readCount(cursor, minimumBytes[elementType], limit, `elements of ${what}`);
  return { elementType, value: await readElements(cursor, elementType, count, what, budget, depth) };
}

async function readElements(
  cursor: Cursor,
  type: ValueType,
  count: number,
  what: string,
  budget: Budget,
  depth: number,
): Promise<MetadataArray> {
  switch (type) {
    case "string":
      return readStrings(cursor, count, what);
    case "bool": {
      spend(budget, count, cursor, what);
      await cursor.need(count, what);
      return Array.from({ length: count }, () => readBool(cursor, what));
    }
    case "array": {
      if (depth >= limits.arrayDepth) {
        throw new GgufError("limit", {
          expected: `at most ${limits.arrayDepth} arrays within one another`,
          got: `more in ${what}`,
          offset: cursor.offset,
        });
      }
      spend(budget, count, cursor, what);
      const arrays: MetadataArray[] = [];
      for (let i = 0; i < count; i++) arrays.push((await readArray(cursor, what, budget, depth + 1)).value);
      return arrays;
    }
    default: {
      const bytes = count * minimumBytes[type];
      await cursor.need(bytes, what);
      return new numericArrays[type](cursor.numbers(count, minimumBytes[type]).buffer);
    }
  }
}

async function readStrings(cursor: Cursor, count: number, what: string): Promise<StringTable> {
  const starts = new Uint32Array(count + 1);
  const base = cursor.offset;
  for (let i = 0; i < count; i++) {
    // Awaiting only at the end of what is in memory keeps this loop, the longest of a header, synchronous.
    if (cursor.available < 8) await cursor.need(8, what);
    const length = Number(cursor.u64());
    starts[i] = cursor.offset - base;
    if (cursor.available < length) await cursor.need(length, `string ${i} of ${what}`);
    cursor.skip(length);
  }
  starts[count] = cursor.offset - base + 8;
  return new StringTable(cursor.since(base), starts);
}

function readBool(cursor: Cursor, what: string): boolean {
  const offset = cursor.offset;
  const byte = cursor.u8();
  if (byte > 1) throw new GgufError("invalid", { expected: `0 or 1 for ${what}`, got: String(byte), offset });
  return byte === 1;
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

function plainInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
