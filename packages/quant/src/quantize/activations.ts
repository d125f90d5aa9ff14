import { check, floatArray } from "../checks.ts";
import { dequantize } from "../dequantize/dequantize.ts";
import { QuantError } from "../errors.ts";
import { bfloatToFloat, floatToBfloat } from "../floats/bfloat.ts";
import { floatToHalf, halfToFloat } from "../floats/half.ts";
import { type BlockType, blockLayout, type GgmlType, isBlockType, rowBytes } from "../types/types.ts";
import { type ActivationType, quantizeRow } from "./quantizeRow.ts";

/**
 * The format that ggml's CPU code rounds activations to before it multiplies them by weights of each type (`vec_dot_type` of
 * `type_traits_cpu`, ggml-cpu.c). Weights of q8_K are only multiplied with activations of q8_K.
 */
export const activationType: Readonly<Record<BlockType, ActivationType>> = {
  q1_0: "q8_0",
  q2_0: "q8_0",
  q4_0: "q8_0",
  q4_1: "q8_1",
  q5_0: "q8_0",
  q5_1: "q8_1",
  q8_0: "q8_0",
  q8_1: "q8_1",
  mxfp4: "q8_0",
  nvfp4: "q8_0",
  q2_K: "q8_K",
  q3_K: "q8_K",
  q4_K: "q8_K",
  q5_K: "q8_K",
  q6_K: "q8_K",
  q8_K: "q8_K",
  iq1_s: "q8_K",
  iq1_m: "q8_K",
  iq2_xxs: "q8_K",
  iq2_xs: "q8_K",
  iq2_s: "q8_K",
  iq3_xxs: "q8_K",
  iq3_s: "q8_K",
  iq4_nl: "q8_0",
  iq4_xs: "q8_K",
  tq1_0: "q8_K",
  tq2_0: "q8_K",
};

/**
 * Rounds an activation row as ggml's CPU code (x86) does before it multiplies the row by weights of `weightType`: to blocks of
 * {@link activationType} for block types, to f16 or bf16 for these types, and not at all for f32. The result is f32 again.
 * `row [n] -> out [n]`; they may be the same array.
 *
 * For q4_1 and q5_1 ggml multiplies the minima by the stored sum of a q8_1 block, which is rounded to f16 on its own; a product with
 * these values alone differs by that rounding (2^-11 of the minima's share), which `activationSumErrors` gives.
 * @throws {QuantError} `length` if `out.length !== n` or `n` is no whole number of activation blocks, `unsupported-type` for f64 and
 * integers
 */
export function roundActivations(weightType: GgmlType, row: Float32Array, out: Float32Array): void {
  blockLayout(weightType);
  check("roundActivations", "row", row, floatArray);
  check("roundActivations", "out", out, floatArray);
  if (out.length !== row.length) {
    throw new QuantError("length", `roundActivations: expected out of ${row.length} elements, got ${out.length}`);
  }
  if (isBlockType(weightType)) {
    const type = activationType[weightType];
    const bytes = new Uint8Array(rowBytes(type, row.length));
    quantizeRow(type, row, bytes, "x86");
    dequantize(type, bytes, out);
  } else if (weightType === "f32") {
    out.set(row);
  } else if (weightType === "f16") {
    out.set(row.map((value) => halfToFloat(floatToHalf(value))));
  } else if (weightType === "bf16") {
    out.set(row.map((value) => bfloatToFloat(floatToBfloat(value))));
  } else {
    throw new QuantError("unsupported-type", `roundActivations: expected a float or block type of weights, got ${weightType}`);
  }
}
