import { describe } from "@centella/quant/checks";
import { roundTo } from "../../backend/decode.ts";
import { type DType, decodedArrayOf, isInteger } from "../../dtype.ts";
import { ArgumentError } from "../../errors.ts";

/** @throws {ArgumentError} unless `dtype` can hold `value`. A float dtype takes any number but NaN, since it rounds. */
export function requireValue(op: string, dtype: DType, value: number): void {
  if (!isHeld(dtype, value)) throw new ArgumentError(op, `a value that ${dtype} can hold`, describe(value), "use another value or dtype");
}

function isHeld(dtype: DType, value: number): boolean {
  if (typeof value !== "number" || Number.isNaN(value)) return false;
  if (dtype === "bool") return value === 0 || value === 1;
  return !isInteger(dtype) || decodedArrayOf(dtype).of(value)[0] === value;
}

/** `value` as `dtype` stores it. */
export function roundValue(dtype: DType, value: number): number {
  return isInteger(dtype) ? value : roundTo(dtype, Float32Array.of(value))[0]!;
}
