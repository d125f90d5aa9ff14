import { check, string } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";
import { StringTable } from "./stringTable.ts";

/** Types of metadata values. Their numbers in a file are their places in {@link valueTypes}. */
export type ValueType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "bool" | "string" | "array" | "u64" | "i64" | "f64";

/** The value types in the order of their numbers. Source: `enum gguf_type` of gguf.h. */
export const valueTypes: readonly ValueType[] = [
  "u8",
  "i8",
  "u16",
  "i16",
  "u32",
  "i32",
  "f32",
  "bool",
  "string",
  "array",
  "u64",
  "i64",
  "f64",
];

export type NumericType = Exclude<ValueType, "bool" | "string" | "array">;

/** Bytes that a value of each type takes, at least: strings begin with a length, arrays with a type and a count. */
export const valueBytes: Readonly<Record<ValueType, number>> = {
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

/** Arrays of numbers, typed as in the file. */
export type NumericArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

/** Arrays: typed for numbers, a {@link StringTable} for strings, plain for truth values and for arrays of arrays. */
export type MetadataArray = NumericArray | StringTable | readonly boolean[] | readonly MetadataArray[];

/** A value. u64 and i64 are numbers where a number holds them exactly, else bigints. */
export type MetadataValue = number | bigint | boolean | string | MetadataArray;

/** One key of the metadata. */
export interface MetadataEntry {
  readonly key: string;
  readonly type: ValueType;
  /** Type of the elements of an array. */
  readonly elementType?: ValueType;
  readonly value: MetadataValue;
}

/** True for the arrays of numbers (also of 64 bits). */
export function isNumericArray(value: unknown): value is NumericArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** `u32`, or for arrays `array of 3 f32`. */
export function typeLabel(entry: MetadataEntry): string {
  if (entry.elementType === undefined) return entry.type;
  const { value } = entry;
  const length = isNumericArray(value) || value instanceof StringTable || Array.isArray(value) ? value.length : 0;
  return `array of ${length} ${entry.elementType}`;
}

/** Entries by key, in the order of the file: a Map of them is one. */
export interface MetadataLookup {
  readonly size: number;
  has(key: string): boolean;
  get(key: string): MetadataEntry | undefined;
  keys(): IterableIterator<string>;
  values(): IterableIterator<MetadataEntry>;
}

/**
 * The key-value pairs of a file, in its order. Getters check the type: each throws `missing` if the key is not there and `wrong-type` if
 * it has another
 * type; those named `optional…` return undefined for a missing key.
 */
export class Metadata implements Iterable<MetadataEntry> {
  readonly #entries: MetadataLookup;

  constructor(entries: MetadataLookup) {
    this.#entries = entries;
  }

  /** Number of keys. */
  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(check("metadata", "key", key, string));
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Key, type and value, or undefined. */
  entry(key: string): MetadataEntry | undefined {
    return this.#entries.get(check("metadata", "key", key, string));
  }

  /** Returns the value of any type, or undefined. */
  get(key: string): MetadataValue | undefined {
    return this.entry(key)?.value;
  }

  [Symbol.iterator](): Iterator<MetadataEntry> {
    return this.#entries.values();
  }

  /** A string. @throws {GgufError} `missing`, `wrong-type` */
  string(key: string): string {
    return this.#required(key, this.optionalString(key), "a string");
  }

  optionalString(key: string): string | undefined {
    return this.#optional(key, "a string", (value) => (typeof value === "string" ? value : undefined));
  }

  /** A number of any type, if a JavaScript number holds it exactly. @throws {GgufError} `missing`, `wrong-type` */
  number(key: string): number {
    return this.#required(key, this.optionalNumber(key), "a number");
  }

  optionalNumber(key: string): number | undefined {
    return this.#optional(key, "a number below 2^53", (value) => (typeof value === "number" ? value : undefined));
  }

  /** A whole number >= 0, such as a count or an id. @throws {GgufError} `missing`, `wrong-type` */
  count(key: string): number {
    return this.#required(key, this.optionalCount(key), "a whole number >= 0");
  }

  optionalCount(key: string): number | undefined {
    return this.#optional(key, "a whole number >= 0", (value) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined,
    );
  }

  /** @throws {GgufError} `missing`, `wrong-type` */
  bool(key: string): boolean {
    return this.#required(key, this.optionalBool(key), "a bool");
  }

  optionalBool(key: string): boolean | undefined {
    return this.#optional(key, "a bool", (value) => (typeof value === "boolean" ? value : undefined));
  }

  /** An array of strings. @throws {GgufError} `missing`, `wrong-type` */
  strings(key: string): StringTable {
    return this.#required(key, this.optionalStrings(key), "an array of strings");
  }

  optionalStrings(key: string): StringTable | undefined {
    return this.#optional(key, "an array of strings", (value) => (value instanceof StringTable ? value : undefined));
  }

  /** Returns an array of numbers; 64-bit integers are converted. @throws {GgufError} `missing`, `wrong-type` (also for numbers beyond 2^53) */
  numbers(key: string): ArrayLike<number> & Iterable<number> {
    return this.#required(key, this.optionalNumbers(key), "an array of numbers");
  }

  optionalNumbers(key: string): (ArrayLike<number> & Iterable<number>) | undefined {
    return this.#optional(key, "an array of numbers below 2^53", (value) => {
      if (!isNumericArray(value)) return undefined;
      if (!(value instanceof BigUint64Array || value instanceof BigInt64Array)) return value;
      const numbers = Array.from(value, Number);
      return numbers.every(Number.isSafeInteger) ? numbers : undefined;
    });
  }

  /** An array of truth values. @throws {GgufError} `missing`, `wrong-type` */
  bools(key: string): readonly boolean[] {
    return this.#required(key, this.optionalBools(key), "an array of bools");
  }

  optionalBools(key: string): readonly boolean[] | undefined {
    return this.#optional(key, "an array of bools", (value) =>
      isBoolArray(value) && this.entry(key)?.elementType === "bool" ? value : undefined,
    );
  }

  #required<T>(key: string, value: T | undefined, expected: string): T {
    if (value !== undefined) return value;
    throw new GgufError("missing", {
      expected: `${expected} for key '${shown(key)}'`,
      got: "no such key",
      hint: "the file may be incomplete or of another kind",
    });
  }

  #optional<T>(key: string, expected: string, convert: (value: MetadataValue) => T | undefined): T | undefined {
    const entry = this.entry(key);
    if (entry === undefined) return undefined;
    const converted = convert(entry.value);
    if (converted !== undefined) return converted;
    const number = typeof entry.value === "number" || typeof entry.value === "bigint" ? ` ${entry.value}` : "";
    throw new GgufError("wrong-type", { expected: `${expected} for key '${shown(key)}'`, got: `${typeLabel(entry)}${number}` });
  }
}

function isBoolArray(value: MetadataValue): value is readonly boolean[] {
  return Array.isArray(value) && value.every((element) => typeof element === "boolean");
}
