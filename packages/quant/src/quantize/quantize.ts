import { byteArray, check, checkOptions, describe, floatArray } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { floatToBfloat } from "../floats/bfloat.ts";
import { setHalfAt } from "../floats/half.ts";
import { quantizeIq4Nl } from "../types/iq4_nl.ts";
import { quantizeIq4Xs } from "../types/iq4_xs.ts";
import { quantizeQ2_K } from "../types/q2_K.ts";
import { quantizeQ3_K } from "../types/q3_K.ts";
import { quantizeQ4_0 } from "../types/q4_0.ts";
import { quantizeQ4_1 } from "../types/q4_1.ts";
import { quantizeQ4_K } from "../types/q4_K.ts";
import { quantizeQ5_0 } from "../types/q5_0.ts";
import { quantizeQ5_1 } from "../types/q5_1.ts";
import { quantizeQ5_K } from "../types/q5_K.ts";
import { quantizeQ6_K } from "../types/q6_K.ts";
import { quantizeQ8_0 } from "../types/q8_0.ts";
import { isBlockType, isQuantizable, type QuantizableType, rowBytes } from "../types/types.ts";

export interface QuantizeOptions {
  /**
   * Importance of the columns, one number >= 0 for each element of a row: the mean squares of the activations that the row is multiplied
   * with, as `llama-imatrix` collects them. The types without a search (f32, f16, bf16, q8_0) come out the same with it, as in ggml.
   */
  readonly imatrix?: Float32Array;
}

/** Writes the blocks of one row, or of many where there is no importance; lengths have been checked. */
type Quantizer = (row: Float32Array, out: Uint8Array, importance?: Float32Array) => void;

const quantizers: Readonly<Record<QuantizableType, Quantizer>> = {
  f32(row, out) {
    out.set(new Uint8Array(row.buffer, row.byteOffset, row.byteLength));
  },
  f16(row, out) {
    for (let i = 0; i < row.length; i++) setHalfAt(out, 2 * i, row[i]!);
  },
  bf16(row, out) {
    for (let i = 0; i < row.length; i++) {
      const bits = floatToBfloat(row[i]!);
      out[2 * i] = bits & 255;
      out[2 * i + 1] = bits >> 8;
    }
  },
  q4_0: quantizeQ4_0,
  q4_1: quantizeQ4_1,
  q5_0: quantizeQ5_0,
  q5_1: quantizeQ5_1,
  q8_0(row, out) {
    quantizeQ8_0(row, out, "reference");
  },
  q2_K: quantizeQ2_K,
  q3_K: quantizeQ3_K,
  q4_K: quantizeQ4_K,
  q5_K: quantizeQ5_K,
  q6_K: quantizeQ6_K,
  iq4_nl: quantizeIq4Nl,
  iq4_xs: quantizeIq4Xs,
};

/**
 * Encodes `values`, one or more whole rows, as blocks of `type`, with the bytes that llama.cpp's quantiser writes (ggml's portable C
 * without fused multiply-add). Returns `out`, or a new array of `rowBytes(type, values.length)` bytes.
 * @throws {QuantError} `length` if a length does not fit, `not-finite` for a NaN or an infinity that would spoil a block or for an
 * importance that is no number >= 0, `unsupported-type` for types without an encoder
 */
export function quantize(type: QuantizableType, values: Float32Array, out?: Uint8Array, options: QuantizeOptions = {}): Uint8Array {
  check("quantize", "values", values, floatArray);
  if (out !== undefined) check("quantize", "out", out, byteArray);
  const { imatrix } = checkOptions("quantize", options, { imatrix: floatArray });
  const bytes = rowBytes(type, values.length);
  const quantizer = isQuantizable(type) ? quantizers[type] : undefined;
  if (quantizer === undefined) {
    throw new QuantError("unsupported-type", `quantize: expected one of ${Object.keys(quantizers).join(", ")}, got ${describe(type)}`);
  }
  const target = out ?? new Uint8Array(bytes);
  if (target.length !== bytes) {
    throw new QuantError(
      "length",
      `quantize: expected out of ${bytes} bytes for ${values.length} elements of ${type}, got ${target.length}`,
    );
  }
  if (isBlockType(type)) requireFinite("values", values, -Infinity);
  if (imatrix === undefined) {
    quantizer(values, target);
    return target;
  }
  const n = imatrix.length;
  if (n === 0 || values.length % n !== 0) {
    throw new QuantError("length", `quantize: expected an imatrix as long as a row of the ${values.length} values, got ${n} elements`);
  }
  requireFinite("imatrix", imatrix, 0);
  const stride = rowBytes(type, n);
  for (let row = 0; row * n < values.length; row++) {
    quantizer(values.subarray(row * n, (row + 1) * n), target.subarray(row * stride, (row + 1) * stride), imatrix);
  }
  return target;
}

function requireFinite(name: string, values: Float32Array, least: number): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isFinite(value) && value >= least) continue;
    const expected = least === 0 ? "numbers >= 0" : "finite numbers";
    throw new QuantError("not-finite", `quantize: expected ${name} to be ${expected}, got ${value} at ${i}; the tensor is damaged`);
  }
}
