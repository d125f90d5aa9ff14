import { bfloatRowToFloat, dequantize, floatRowToBfloat, floatRowToHalf, halfRowToFloat, isHalf, quantizeRow } from "@centella/quant";
import { check, floatArray, object } from "@centella/quant/checks";
import { type DType, isQuantized, type TypedArray } from "../dtype.ts";
import { UnsupportedError } from "../errors.ts";
import { byteLength, type ConcreteSpec, elementCount } from "../spec.ts";
import { checkData } from "../tensor.ts";

/** A tensor's stored form as numbers: f16, bf16 and block types become `Float32Array`, other dtypes are returned unchanged. */
export function decode(spec: ConcreteSpec, stored: TypedArray): TypedArray {
  checkData("decode", spec, stored);
  const { dtype, shape } = spec;
  if (!isDecoded(dtype)) return stored;
  const values = new Float32Array(elementCount(shape));
  if (dtype === "f16") halfRowToFloat(stored as Uint16Array, values);
  else if (dtype === "bf16") bfloatRowToFloat(stored as Uint16Array, values);
  else if (isQuantized(dtype)) dequantize(dtype, stored as Uint8Array, values);
  return values;
}

/** The inverse of {@link decode}: rounds to f16, bf16 or q8_0. @throws {UnsupportedError} for other block types */
export function encode(spec: ConcreteSpec, values: TypedArray): TypedArray {
  check("encode", "spec", spec, object);
  const { dtype, shape } = spec;
  if (!isDecoded(dtype)) return values;
  if (isHalf(dtype)) return encodeHalf(dtype, values as Float32Array);
  if (dtype !== "q8_0") throw new UnsupportedError(dtype, "tensors of this type are read, not computed");
  const blocks = new Uint8Array(byteLength({ dtype, shape }));
  quantizeRow("q8_0", values as Float32Array, blocks);
  return blocks;
}

/** {@link encode} for 16-bit floats, without the code that writes blocks. */
export function encodeHalf(dtype: "f16" | "bf16", values: Float32Array): Uint16Array {
  const stored = new Uint16Array(values.length);
  if (dtype === "f16") floatRowToHalf(values, stored);
  else floatRowToBfloat(values, stored);
  return stored;
}

/** Rounds f32 values to what `dtype` can store. */
export function roundTo(dtype: DType, values: Float32Array): Float32Array {
  check("roundTo", "values", values, floatArray);
  if (isHalf(dtype)) return roundToHalf(dtype, values);
  if (!isDecoded(dtype)) return values;
  const spec = { dtype, shape: [values.length] };
  return decode(spec, encode(spec, values)) as Float32Array;
}

/** {@link roundTo} for 16-bit floats. */
export function roundToHalf(dtype: "f16" | "bf16", values: Float32Array): Float32Array {
  const stored = encodeHalf(dtype, values);
  const rounded = new Float32Array(values.length);
  if (dtype === "f16") halfRowToFloat(stored, rounded);
  else bfloatRowToFloat(stored, rounded);
  return rounded;
}

function isDecoded(dtype: DType): boolean {
  return isHalf(dtype) || isQuantized(dtype);
}
