import { blockLayout, type GgmlType } from "@centella/quant";
import { describe, isAttached } from "@centella/quant/checks";
import { type ByteOrder, swapBytes } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  isNumericArray,
  type MetadataArray,
  type MetadataEntry,
  type MetadataValue,
  type NumericArray,
  type ValueType,
  valueTypes,
} from "../read/metadata.ts";
import { StringTable } from "../read/stringTable.ts";
import { shown } from "../shown.ts";
import { integerRanges, numericArrays } from "../values.ts";

/** A key to write: as read from a file, or with plain strings. */
export interface WritableEntry extends Omit<MetadataEntry, "value"> {
  readonly value: MetadataValue | readonly string[];
}

/** A header to write. */
export interface WritableHeader {
  /** 2 or 3. */
  readonly version: number;
  readonly byteOrder: ByteOrder;
  readonly metadata: readonly WritableEntry[];
  /** `offset` counts from the start of the tensor data. */
  readonly tensors: readonly {
    readonly name: string;
    readonly type: GgmlType;
    readonly shape: readonly number[];
    readonly offset: number;
  }[];
}

/** The bytes of a header, unpadded. @throws {GgufError} `invalid` if a value does not fit its type */
export function encodeHeader({ version, byteOrder, metadata, tensors }: WritableHeader): Uint8Array<ArrayBuffer> {
  const out = new Encoder(byteOrder);
  out.bytes(textEncoder.encode("GGUF"));
  out.u32(version);
  out.u64(tensors.length);
  out.u64(metadata.length);
  for (const entry of metadata) {
    const { key, type, value } = entry;
    out.string(key);
    out.u32(valueTypes.indexOf(type));
    if (type === "array") encodeArray(out, entry);
    else encodeScalar(out, type, value, key);
  }
  for (const { name, type, shape, offset } of tensors) {
    out.string(name);
    out.u32(shape.length);
    for (const size of shape.toReversed()) out.u64(size);
    out.u32(blockLayout(type).id);
    out.u64(offset);
  }
  return out.done();
}

function encodeScalar(out: Encoder, type: ValueType, value: WritableEntry["value"], key: string): void {
  switch (type) {
    case "string":
      if (typeof value !== "string") throw misfit(key, type, value);
      if (!isText(value)) throw misfit(key, "string without lone surrogates", value);
      out.string(value);
      return;
    case "bool":
      if (typeof value !== "boolean") throw misfit(key, type, value);
      out.bytes(Uint8Array.of(value ? 1 : 0));
      return;
    case "array":
      throw misfit(key, type, value);
    case "f32":
    case "f64":
      if (typeof value !== "number" || (type === "f32" && Number.isFinite(value) && !Number.isFinite(Math.fround(value))))
        throw misfit(key, type, value);
      out.numbers(numericArrays[type].of(value));
      return;
    case "u64":
    case "i64": {
      const big = typeof value === "bigint" ? value : typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : undefined;
      if (big === undefined || big !== (type === "u64" ? BigInt.asUintN(64, big) : BigInt.asIntN(64, big))) throw misfit(key, type, value);
      out.numbers(numericArrays[type].of(big));
      return;
    }
    default: {
      const [min, max] = integerRanges[type];
      if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) throw misfit(key, type, value);
      out.numbers(numericArrays[type].of(value));
    }
  }
}

function encodeArray(out: Encoder, { key, elementType, value }: WritableEntry, depth = 1): void {
  if (!isList(value)) throw misfit(key, "array", value);
  const type = elementType ?? elementTypeOf(value);
  if (type === undefined) throw misfit(key, "array", value);
  if (depth > limits.arrayDepth) {
    throw new GgufError("limit", {
      expected: `at most ${limits.arrayDepth} arrays within one another`,
      got: `more in key '${shown(key)}'`,
    });
  }
  out.u32(valueTypes.indexOf(type));
  out.u64(value.length);
  if (isNumericArray(value)) {
    if (numericTypeOf(value) !== type || !isAttached(value)) throw misfit(key, `array of ${type}`, value);
    out.numbers(value);
    return;
  }
  if (value instanceof StringTable) {
    if (type !== "string") throw misfit(key, `array of ${type}`, value);
    for (let i = 0; i < value.length; i++) out.lengthAndBytes(value.bytes(i)!);
    return;
  }
  for (const element of value) {
    if (type === "array" && isList(element)) encodeArray(out, { key, type, value: element }, depth + 1);
    else if (type === "string" || type === "bool") encodeScalar(out, type, element, key);
    else throw misfit(key, `array of ${type}`, element);
  }
}

function isList(value: unknown): value is MetadataArray | readonly string[] {
  return Array.isArray(value) || isNumericArray(value) || value instanceof StringTable;
}

/** Type of the elements of an array within an array; that of an empty plain one is not kept by the reader and does not matter. */
function elementTypeOf(value: MetadataArray | readonly string[]): ValueType | undefined {
  if (value instanceof StringTable) return "string";
  if (isNumericArray(value)) return numericTypeOf(value);
  const [first] = value;
  return typeof first === "object" ? "array" : typeof first === "string" ? "string" : "bool";
}

function numericTypeOf(array: NumericArray): ValueType | undefined {
  return valueTypes.find(
    (type) => Object.hasOwn(numericArrays, type) && array instanceof numericArrays[type as keyof typeof numericArrays],
  );
}

/** Whether a value is a string that UTF-8 can encode: lone surrogates would be written as U+FFFD. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && !/\p{Cs}/u.test(value);
}

function misfit(key: string, expected: string, value: unknown): GgufError {
  return new GgufError("invalid", { expected: `${expected} for key '${shown(key)}'`, got: describe(value) });
}

/** Appends bytes to a buffer that grows. */
class Encoder {
  readonly #isLittle: boolean;
  #buffer = new Uint8Array(4096);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  constructor(byteOrder: ByteOrder) {
    this.#isLittle = byteOrder === "little";
  }

  u32(value: number): void {
    // First: the view is another one once the buffer has grown.
    const at = this.#advance(4);
    this.#view.setUint32(at, value, this.#isLittle);
  }

  u64(value: number): void {
    const at = this.#advance(8);
    const [low, high] = this.#isLittle ? [at, at + 4] : [at + 4, at];
    this.#view.setUint32(low, value, this.#isLittle);
    this.#view.setUint32(high, Math.floor(value / 2 ** 32), this.#isLittle);
  }

  string(text: string): void {
    this.lengthAndBytes(textEncoder.encode(text));
  }

  lengthAndBytes(bytes: Uint8Array): void {
    this.u64(bytes.length);
    this.bytes(bytes);
  }

  numbers(numbers: NumericArray): void {
    const start = this.#length;
    this.bytes(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
    if (!this.#isLittle) swapBytes(this.#buffer.subarray(start, this.#length), numbers.BYTES_PER_ELEMENT);
  }

  bytes(bytes: Uint8Array): void {
    const at = this.#advance(bytes.length);
    this.#buffer.set(bytes, at);
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, this.#length);
  }

  #advance(length: number): number {
    const at = this.#length;
    this.#length += length;
    if (this.#length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(this.#length, 2 * this.#buffer.length));
      grown.set(this.#buffer.subarray(0, at));
      this.#buffer = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }
}

const textEncoder = new TextEncoder();
