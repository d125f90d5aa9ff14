import { blockLayout, type GgmlType, tensorBytes } from "@centella/quant";
import { type ValueType, valueTypes } from "../src/read/metadata.ts";

/** An array to write: elements of one type, or arrays. */
export interface ArrayValue {
  readonly of: ValueType;
  readonly values: readonly WritableValue[];
}

export type WritableValue = number | bigint | boolean | string | ArrayValue;

/** Bytes put one after the other, little-endian. */
export class Writer {
  readonly #bytes: number[] = [];

  get length(): number {
    return this.#bytes.length;
  }

  bytes(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  u32(value: number): this {
    return this.bytes(new Uint8Array(Uint32Array.of(value).buffer));
  }

  u64(value: number | bigint): this {
    return this.bytes(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  }

  string(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.u64(bytes.length).bytes(bytes);
  }

  /** A value without its type. */
  value(type: ValueType, value: WritableValue): this {
    if (typeof value === "object") {
      this.u32(valueTypes.indexOf(value.of)).u64(value.values.length);
      for (const element of value.values) this.value(value.of, element);
      return this;
    }
    if (typeof value === "string") return this.string(value);
    const view = new DataView(new ArrayBuffer(8));
    switch (type) {
      case "u8":
      case "bool":
        view.setUint8(0, Number(value));
        return this.bytes(new Uint8Array(view.buffer, 0, 1));
      case "i8":
        view.setInt8(0, Number(value));
        return this.bytes(new Uint8Array(view.buffer, 0, 1));
      case "u16":
        view.setUint16(0, Number(value), true);
        return this.bytes(new Uint8Array(view.buffer, 0, 2));
      case "i16":
        view.setInt16(0, Number(value), true);
        return this.bytes(new Uint8Array(view.buffer, 0, 2));
      case "u32":
        return this.u32(Number(value));
      case "i32":
        view.setInt32(0, Number(value), true);
        return this.bytes(new Uint8Array(view.buffer, 0, 4));
      case "f32":
        view.setFloat32(0, Number(value), true);
        return this.bytes(new Uint8Array(view.buffer, 0, 4));
      case "u64":
        view.setBigUint64(0, BigInt(value), true);
        return this.bytes(new Uint8Array(view.buffer));
      case "i64":
        view.setBigInt64(0, BigInt(value), true);
        return this.bytes(new Uint8Array(view.buffer));
      case "f64":
        view.setFloat64(0, Number(value), true);
        return this.bytes(new Uint8Array(view.buffer));
      default:
        throw new Error(`${type} is written as a string or an ArrayValue`);
    }
  }

  done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }
}

export interface TensorToWrite {
  readonly name: string;
  readonly type: GgmlType;
  /** Row-major. */
  readonly shape: readonly number[];
  /** Default: bytes 0, 1, 2 … */
  readonly data?: Uint8Array;
}

export interface FileToWrite {
  readonly version?: number;
  readonly metadata?: readonly (readonly [key: string, type: ValueType, value: WritableValue])[];
  readonly tensors?: readonly TensorToWrite[];
  readonly alignment?: number;
}

/** The bytes of a GGUF file, written independently of the reader from `docs/gguf.md` of ggml. */
export function writeGguf({ version = 3, metadata = [], tensors = [], alignment = 32 }: FileToWrite): Uint8Array<ArrayBuffer> {
  const writer = new Writer().bytes([0x47, 0x47, 0x55, 0x46]).u32(version).u64(tensors.length).u64(metadata.length);
  for (const [key, type, value] of metadata) writer.string(key).u32(valueTypes.indexOf(type)).value(type, value);
  let offset = 0;
  for (const { name, type, shape } of tensors) {
    writer.string(name).u32(shape.length);
    for (const size of shape.toReversed()) writer.u64(size);
    writer.u32(blockLayout(type).id).u64(offset);
    offset = align(offset + tensorBytes(type, shape), alignment);
  }
  for (const { type, shape, data } of tensors) {
    pad(writer, alignment);
    writer.bytes(data ?? Uint8Array.from({ length: tensorBytes(type, shape) }, (_, i) => i));
  }
  return writer.done();
}

function align(n: number, alignment: number): number {
  return Math.ceil(n / alignment) * alignment;
}

function pad(writer: Writer, alignment: number): void {
  writer.bytes(new Uint8Array(align(writer.length, alignment) - writer.length));
}

/** A file with every value type and a few tensors. */
export const everything: FileToWrite = {
  metadata: [
    ["general.architecture", "string", "test"],
    ["general.name", "string", "Día ☀ \u{1f600}"],
    ["general.file_type", "u32", 15],
    ["a.u8", "u8", 255],
    ["a.i8", "i8", -128],
    ["a.u16", "u16", 65535],
    ["a.i16", "i16", -32768],
    ["a.u32", "u32", 4294967295],
    ["a.i32", "i32", -2147483648],
    ["a.f32", "f32", 0.5],
    ["a.f64", "f64", Math.PI],
    ["a.bool", "bool", true],
    ["a.u64", "u64", 9007199254740991n],
    ["a.u64.large", "u64", 18446744073709551615n],
    ["a.i64", "i64", -9223372036854775808n],
    ["tokens", "array", { of: "string", values: ["", "a", "\ufeff", "ñandú", "日本"] }],
    ["scores", "array", { of: "f32", values: [0, -1.5, Number.NaN] }],
    ["types", "array", { of: "i32", values: [1, -2, 3] }],
    ["bytes", "array", { of: "u8", values: [1, 2, 255] }],
    ["longs", "array", { of: "u64", values: [1n, 9007199254740993n] }],
    ["flags", "array", { of: "bool", values: [true, false] }],
    ["empty", "array", { of: "u32", values: [] }],
    [
      "nested",
      "array",
      {
        of: "array",
        values: [
          { of: "i16", values: [1, 2] },
          { of: "array", values: [{ of: "string", values: ["deep"] }] },
        ],
      },
    ],
  ],
  tensors: [
    { name: "vector", type: "f32", shape: [5] },
    { name: "matrix", type: "q8_0", shape: [3, 64] },
    { name: "cube", type: "f16", shape: [2, 3, 4] },
    { name: "scalar", type: "i32", shape: [] },
    { name: "empty", type: "f32", shape: [0, 4] },
  ],
};
