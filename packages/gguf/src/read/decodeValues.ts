import { elementAt } from "@centella/quant/checks";
import { swapBytes } from "../byteOrder.ts";
import { numericArrays } from "../values.ts";
import { type MetadataArray, type MetadataValue, type NumericType, type ValueType, valueBytes, valueTypes } from "./metadata.ts";
import { StringTable } from "./stringTable.ts";

/** Bytes whose counts, lengths and types have been checked (values.ts), so that they are taken for granted here. */
export interface CheckedBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly isLittle: boolean;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The value at byte `at`. */
export function decodeScalar(data: CheckedBytes, at: number, type: Exclude<ValueType, "array">): Exclude<MetadataValue, MetadataArray> {
  const { bytes, view, isLittle } = data;
  switch (type) {
    case "u8":
      return view.getUint8(at);
    case "i8":
      return view.getInt8(at);
    case "u16":
      return view.getUint16(at, isLittle);
    case "i16":
      return view.getInt16(at, isLittle);
    case "u32":
      return view.getUint32(at, isLittle);
    case "i32":
      return view.getInt32(at, isLittle);
    case "f32":
      return view.getFloat32(at, isLittle);
    case "f64":
      return view.getFloat64(at, isLittle);
    case "bool":
      return bytes[at] === 1;
    case "u64":
      return plainInteger(view.getBigUint64(at, isLittle));
    case "i64":
      return plainInteger(view.getBigInt64(at, isLittle));
    case "string":
      return decoder.decode(bytes.subarray(at + 8, at + 8 + countAt(data, at)));
  }
}

/** The type at byte `at`: of an entry, or of the elements of an array. */
export function valueTypeAt({ view, isLittle }: CheckedBytes, at: number): ValueType {
  return elementAt(valueTypes, view.getUint32(at, isLittle));
}

/** The array at byte `at`, and where it ends. */
export function decodeArray(data: CheckedBytes, at: number): { readonly value: MetadataArray; readonly end: number } {
  const { bytes, isLittle } = data;
  const type = valueTypeAt(data, at);
  const count = countAt(data, at + 4);
  const start = at + 12;
  switch (type) {
    case "string":
      return decodeStrings(data, start, count);
    case "bool":
      return { value: Array.from(bytes.subarray(start, start + count), (byte) => byte === 1), end: start + count };
    case "array": {
      const arrays: MetadataArray[] = [];
      let end = start;
      for (let i = 0; i < count; i++) {
        const element = decodeArray(data, end);
        arrays.push(element.value);
        end = element.end;
      }
      return { value: arrays, end };
    }
    default:
      return { value: numbers(bytes, isLittle, type, start, count), end: start + count * valueBytes[type] };
  }
}

function numbers(bytes: Uint8Array, isLittle: boolean, type: NumericType, start: number, count: number): MetadataArray {
  const copy = new Uint8Array(bytes.subarray(start, start + count * valueBytes[type]));
  if (!isLittle) swapBytes(copy, valueBytes[type]);
  return new numericArrays[type](copy.buffer);
}

/** A view of the file's bytes: strings are decoded when they are asked for. */
function decodeStrings(data: CheckedBytes, start: number, count: number): { readonly value: StringTable; readonly end: number } {
  const starts = new Uint32Array(count + 1);
  let at = start;
  for (let i = 0; i < count; i++) {
    starts[i] = at + 8 - start;
    at += 8 + countAt(data, at);
  }
  starts[count] = at + 8 - start;
  return { value: new StringTable(data.bytes.subarray(start, at), starts), end: at };
}

/** A count or length of 8 bytes; checked to be below 2^32. */
function countAt({ view, isLittle }: CheckedBytes, at: number): number {
  return view.getUint32(isLittle ? at : at + 4, isLittle);
}

function plainInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
