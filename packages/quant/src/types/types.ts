import { check, describe, list } from "../checks.ts";
import { QuantError } from "../errors.ts";

/** Block formats: several weights share scales. Names are ggml's, as `ggml_type_name` prints them. */
export type BlockType =
  | "q4_0"
  | "q4_1"
  | "q5_0"
  | "q5_1"
  | "q8_0"
  | "q8_1"
  | "q2_K"
  | "q3_K"
  | "q4_K"
  | "q5_K"
  | "q6_K"
  | "q8_K"
  | "iq1_s"
  | "iq1_m"
  | "iq2_xxs"
  | "iq2_xs"
  | "iq2_s"
  | "iq3_xxs"
  | "iq3_s"
  | "iq4_nl"
  | "iq4_xs"
  | "tq1_0"
  | "tq2_0"
  | "mxfp4"
  | "nvfp4"
  | "q1_0"
  | "q2_0";

/** Formats of one value per element. */
export type PlainType = "f32" | "f16" | "bf16" | "f64" | "i8" | "i16" | "i32" | "i64";

/** Every tensor type that ggml stores in a file. */
export type GgmlType = BlockType | PlainType;

/** The types that `dequantize` reads. */
export type DequantizableType = BlockType | "f32" | "f16" | "bf16";

/** The types that `quantize` writes. */
export type QuantizableType =
  | "f32"
  | "f16"
  | "bf16"
  | "q4_0"
  | "q4_1"
  | "q5_0"
  | "q5_1"
  | "q8_0"
  | "q2_K"
  | "q3_K"
  | "q4_K"
  | "q5_K"
  | "q6_K"
  | "iq4_nl"
  | "iq4_xs";

/** Layout of a type in memory. Plain types are blocks of one element. */
export interface TypeLayout {
  /** Number of the type in a GGUF file (`enum ggml_type`). */
  readonly id: number;
  /** Elements in a block. A row holds a whole number of blocks. */
  readonly blockElements: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
}

function layout(id: number, blockElements: number, blockBytes: number): TypeLayout {
  return { id, blockElements, blockBytes };
}

/**
 * Id and layout of every tensor type of ggml. Ids are `enum ggml_type` of `ggml/include/ggml.h`, layouts the structs of
 * `ggml/src/ggml-common.h` (ggml 0.16).
 */
export const ggmlTypes: Readonly<Record<GgmlType, TypeLayout>> = {
  f32: layout(0, 1, 4),
  f16: layout(1, 1, 2),
  q4_0: layout(2, 32, 18),
  q4_1: layout(3, 32, 20),
  q5_0: layout(6, 32, 22),
  q5_1: layout(7, 32, 24),
  q8_0: layout(8, 32, 34),
  q8_1: layout(9, 32, 36),
  q2_K: layout(10, 256, 84),
  q3_K: layout(11, 256, 110),
  q4_K: layout(12, 256, 144),
  q5_K: layout(13, 256, 176),
  q6_K: layout(14, 256, 210),
  q8_K: layout(15, 256, 292),
  iq2_xxs: layout(16, 256, 66),
  iq2_xs: layout(17, 256, 74),
  iq3_xxs: layout(18, 256, 98),
  iq1_s: layout(19, 256, 50),
  iq4_nl: layout(20, 32, 18),
  iq3_s: layout(21, 256, 110),
  iq2_s: layout(22, 256, 82),
  iq4_xs: layout(23, 256, 136),
  i8: layout(24, 1, 1),
  i16: layout(25, 1, 2),
  i32: layout(26, 1, 4),
  i64: layout(27, 1, 8),
  f64: layout(28, 1, 8),
  iq1_m: layout(29, 256, 56),
  bf16: layout(30, 1, 2),
  tq1_0: layout(34, 256, 54),
  tq2_0: layout(35, 256, 66),
  mxfp4: layout(39, 32, 17),
  nvfp4: layout(40, 64, 36),
  q1_0: layout(41, 128, 18),
  q2_0: layout(42, 64, 18),
};

/** Ids that ggml has withdrawn. Files with them need an older program or a new conversion. */
const withdrawnTypes: ReadonlyMap<number, string> = new Map([
  [4, "q4_2"],
  [5, "q4_3"],
  [31, "q4_0_4_4"],
  [32, "q4_0_4_8"],
  [33, "q4_0_8_8"],
  [36, "iq4_nl_4_4"],
  [37, "iq4_nl_4_8"],
  [38, "iq4_nl_8_8"],
]);

const typeNames: readonly GgmlType[] = Object.keys(ggmlTypes).filter(isGgmlType);
const namesById: ReadonlyMap<number, GgmlType> = new Map(typeNames.map((name) => [ggmlTypes[name].id, name]));

/** True for the name of a ggml type. */
export function isGgmlType(name: string): name is GgmlType {
  return typeof name === "string" && Object.hasOwn(ggmlTypes, name);
}

/** True for the 16-bit floats. */
export function isHalf(type: string): type is "f16" | "bf16" {
  return type === "f16" || type === "bf16";
}

/** True for types whose elements share scales in blocks. */
export function isBlockType(type: GgmlType): type is BlockType {
  return isGgmlType(type) && ggmlTypes[type].blockElements > 1;
}

/** True for the types that `dequantize` reads: all but f64 and integers. */
export function isDequantizable(type: GgmlType): type is DequantizableType {
  return isGgmlType(type) && (isBlockType(type) || isHalf(type) || type === "f32");
}

/** A list of names, so that a query does not load the quantisers. */
const quantizable: Readonly<Record<QuantizableType, true>> = {
  f32: true,
  f16: true,
  bf16: true,
  q4_0: true,
  q4_1: true,
  q5_0: true,
  q5_1: true,
  q8_0: true,
  q2_K: true,
  q3_K: true,
  q4_K: true,
  q5_K: true,
  q6_K: true,
  iq4_nl: true,
  iq4_xs: true,
};

/** True for the types that `quantize` writes. */
export function isQuantizable(type: GgmlType): type is QuantizableType {
  return isGgmlType(type) && Object.hasOwn(quantizable, type);
}

/** Returns the type with this number in a GGUF file, or undefined if ggml has none. */
export function typeById(id: number): GgmlType | undefined {
  return namesById.get(id);
}

/** Name of a type that ggml has withdrawn (`q4_2`, `q4_0_8_8`, …), or undefined. */
export function withdrawnTypeById(id: number): string | undefined {
  return withdrawnTypes.get(id);
}

/**
 * Id, elements and bytes per block of a type.
 * @throws {QuantError} `unknown-type` for a name that is no ggml type (possible from untyped callers)
 */
export function blockLayout(type: GgmlType): TypeLayout {
  if (!isGgmlType(type)) throw new QuantError("unknown-type", `blockLayout: expected the name of a ggml type, got ${describe(type)}`);
  return ggmlTypes[type];
}

/**
 * Bytes of a row of `n` elements: `n / blockElements * blockBytes`.
 * @throws {QuantError} `length` if `n` is not a whole number of blocks
 */
export function rowBytes(type: GgmlType, n: number): number {
  const { blockElements, blockBytes } = blockLayout(type);
  if (!Number.isSafeInteger(n) || n < 0 || n % blockElements !== 0) {
    throw new QuantError("length", `rowBytes: expected a multiple of ${blockElements} elements for ${type}, got ${describe(n)}`);
  }
  return (n / blockElements) * blockBytes;
}

/**
 * Bytes of a tensor, `shape` row-major (the last axis is contiguous and holds whole blocks); `[]` is one element.
 * @throws {QuantError} `length` if the last axis is not a whole number of blocks, or a size is no safe integer
 */
export function tensorBytes(type: GgmlType, shape: readonly number[]): number {
  check("tensorBytes", "shape", shape, list, "pass e.g. [2, 32]");
  let rows = 1;
  for (const size of shape.slice(0, -1)) {
    if (!Number.isSafeInteger(size) || size < 0) throw new QuantError("length", `tensorBytes: expected sizes >= 0, got ${describe(shape)}`);
    rows *= size;
  }
  const bytes = rows * rowBytes(type, shape.at(-1) ?? 1);
  if (!Number.isSafeInteger(bytes))
    throw new QuantError("length", `tensorBytes: expected fewer than 2^53 bytes, got shape ${describe(shape)}`);
  return bytes;
}
