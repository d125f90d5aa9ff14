import { type BlockType, blockLayout, isBlockType, isGgmlType } from "@centella/quant";
import { describe } from "@centella/quant/checks";
import { DTypeError } from "./errors.ts";

/**
 * Plain element types. f16 and bf16 are storage types: every backend accumulates in f32 or better. A bool is stored as a u8 of
 * 0 or 1; any other byte than 0 is read as true.
 */
export type ScalarType = "f32" | "f16" | "bf16" | "i32" | "u32" | "i8" | "u8" | "bool";

/** Every dtype that a tensor can have: a plain element type, or a ggml block type. */
export type DType = ScalarType | BlockType;

const scalarBytes: Readonly<Record<ScalarType, number>> = { f32: 4, f16: 2, bf16: 2, i32: 4, u32: 4, i8: 1, u8: 1, bool: 1 };

/** Layout of a dtype in memory: `elements` consecutive elements of the last axis take `bytes` bytes. */
export interface DTypeLayout {
  readonly elements: number;
  readonly bytes: number;
}

/** Block layout of a dtype; plain types are blocks of one element. */
export function layoutOf(dtype: DType): DTypeLayout {
  if (isQuantized(dtype)) {
    const { blockElements, blockBytes } = blockLayout(dtype);
    return { elements: blockElements, bytes: blockBytes };
  }
  if (!isDType(dtype)) throw new DTypeError("tensor", "a dtype", describe(dtype), 'pass e.g. "f32"');
  return { elements: 1, bytes: scalarBytes[dtype] };
}

/** True for the name of a dtype. */
export function isDType(name: unknown): name is DType {
  return typeof name === "string" && (Object.hasOwn(scalarBytes, name) || (isGgmlType(name) && isBlockType(name)));
}

/** True for the ggml block types, false for plain element types. */
export function isQuantized(dtype: DType): dtype is BlockType {
  return isDType(dtype) && !Object.hasOwn(scalarBytes, dtype);
}

/** True for types with integer values, including bool (0 and 1). */
export function isInteger(dtype: DType): boolean {
  return dtype === "i32" || dtype === "u32" || dtype === "i8" || dtype === "u8" || dtype === "bool";
}

/** The typed arrays in which tensors cross the API. */
export type TypedArray = Float32Array | Int32Array | Uint32Array | Int8Array | Uint8Array | Uint16Array;

/**
 * The array type of a dtype's stored form: f16 and bf16 are their bits in a `Uint16Array`, block types their bytes
 * in a `Uint8Array`, bools a `Uint8Array` of 0 and 1.
 */
export function typedArrayOf(dtype: DType): TypedArrayConstructor {
  switch (dtype) {
    case "f32":
      return Float32Array;
    case "f16":
    case "bf16":
      return Uint16Array;
    case "i32":
      return Int32Array;
    case "u32":
      return Uint32Array;
    case "i8":
      return Int8Array;
    default:
      return Uint8Array;
  }
}

/** Constructor of a {@link TypedArray}. */
export type TypedArrayConstructor =
  | Float32ArrayConstructor
  | Int32ArrayConstructor
  | Uint32ArrayConstructor
  | Int8ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor;

/**
 * The default dtype of an array's elements; f16 for a `Uint16Array`, u8 for a `Uint8Array`.
 * @throws {DTypeError} for any other value
 */
export function dtypeOf(where: string, data: TypedArray): ScalarType {
  if (data instanceof Float32Array) return "f32";
  if (data instanceof Int32Array) return "i32";
  if (data instanceof Uint32Array) return "u32";
  if (data instanceof Int8Array) return "i8";
  if (data instanceof Uint16Array) return "f16";
  if (data instanceof Uint8Array) return "u8";
  const expected = "a list of numbers, or a Float32Array, Int32Array, Uint32Array, Uint16Array (f16), Int8Array or Uint8Array";
  throw new DTypeError(where, expected, describe(data), "convert other arrays with Float32Array.from()");
}

/** The array type of a dtype's values as numbers, which scalar references compute on: f16, bf16 and block types are f32. */
export function decodedArrayOf(dtype: DType): TypedArrayConstructor {
  return isInteger(dtype) ? typedArrayOf(dtype) : Float32Array;
}
