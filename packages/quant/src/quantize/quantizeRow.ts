import { byteArray, check, describe, floatArray, oneOf } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { quantizeQ8_0 } from "../types/q8_0.ts";
import { quantizeQ8_1 } from "../types/q8_1.ts";
import { quantizeQ8_K } from "../types/q8_K.ts";
import { isGgmlType, rowBytes } from "../types/types.ts";
import type { Rounding } from "./rounding.ts";

/** The 8-bit formats that ggml rounds activations to. */
export type ActivationType = "q8_0" | "q8_1" | "q8_K";

const quantizers: Readonly<Record<ActivationType, (row: Float32Array, out: Uint8Array, rounding: Rounding) => void>> = {
  q8_0: quantizeQ8_0,
  q8_1: quantizeQ8_1,
  q8_K: quantizeQ8_K,
};

/**
 * Quantises `row [n]` to blocks of `type`, bit for bit as ggml does, into `out [rowBytes(type, n)]`. `rounding` picks which of its codes to
 * follow; it makes no difference for q8_K. Values must be finite.
 * @throws {QuantError} `length` if the lengths do not fit, `unsupported-type` for other types (possible from untyped callers)
 */
export function quantizeRow(type: ActivationType, row: Float32Array, out: Uint8Array, rounding: Rounding = "reference"): void {
  if (!isGgmlType(type) || !Object.hasOwn(quantizers, type)) {
    throw new QuantError("unsupported-type", `quantizeRow: expected q8_0, q8_1 or q8_K, got ${describe(type)}`);
  }
  check("quantizeRow", "row", row, floatArray);
  check("quantizeRow", "out", out, byteArray);
  check("quantizeRow", "rounding", rounding, oneOf("reference", "x86"));
  const bytes = rowBytes(type, row.length);
  if (out.length !== bytes) {
    throw new QuantError("length", `quantizeRow: expected out of ${bytes} bytes for ${row.length} elements of ${type}, got ${out.length}`);
  }
  quantizers[type](row, out, rounding);
}
