import { describe } from "@centella/quant/checks";
import { roundTo } from "../../decode.ts";
import { type DType, decodedArrayOf, isInteger } from "../../dtype.ts";
import { ArgumentError } from "../../errors.ts";

/** @throws {ArgumentError} unless `value` is a number that `dtype` can hold; floats are rounded, so only their range counts. */
export function requireValue(op: string, dtype: DType, value: number): void {
  const [held] = decodedArrayOf(dtype).of(value);
  const isHeld = typeof value === "number" && (dtype === "bool" ? value === 0 || value === 1 : !isInteger(dtype) || held === value);
  if (!isHeld || Number.isNaN(value))
    throw new ArgumentError(op, `a value that ${dtype} can hold`, describe(value), "use another value or dtype");
}

/** `value` as `dtype` stores it. */
export function roundValue(dtype: DType, value: number): number {
  return isInteger(dtype) ? value : roundTo(dtype, Float32Array.of(value))[0]!;
}
