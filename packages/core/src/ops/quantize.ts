import { isQuantizable, type QuantizableType } from "@centella/quant";
import { describe } from "@centella/quant/checks";
import { isQuantized, layoutOf } from "../dtype.ts";
import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, formatSpec } from "../spec.ts";
import { requireExtent } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

/** Block types that `quantize` writes: those for which ggml has a quantiser that needs no importance matrix. */
export type QuantizedType = Exclude<QuantizableType, "f32" | "f16" | "bf16">;

/** Parameters of `quantize`. */
export interface QuantizeParams {
  /** Block type of the result. */
  readonly dtype: QuantizedType;
}

/**
 * Rounds values to quantised blocks along the last axis, bit for bit as ggml does.
 * `x [..., n] f32 -> y [..., n]` of a block type, with n a multiple of the block's elements. For f16 and bf16 use `cast`.
 *
 * Values must be finite: the scalar reference throws, and other backends store NaN as the scale of an affected block. The remaining block
 * types can only be read, with `dequantize`.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if the last axis does not hold whole blocks
 * @throws {ArgumentError} if `dtype` cannot be written, and for values that are not finite when the reference runs
 */
export const quantize: Op<["x"], QuantizeParams, "dtype"> = {
  name: "quantize",
  inputs: ["x"],
  defaults: { dtype: "q8_0" },
  infer([x], { dtype }) {
    requireDType("quantize", "x", x, ["f32"]);
    if (typeof dtype !== "string" || !isQuantizable(dtype) || !isQuantized(dtype))
      throw new ArgumentError(
        "quantize",
        "dtype to be a block type that has a quantiser",
        describe(dtype),
        "use q8_0 or q4_K; cast() writes f16",
      );
    const { elements } = layoutOf(dtype);
    const last = x.shape.at(-1);
    if (last === undefined || requireExtent("quantize", "the last axis of x", last) % elements !== 0)
      throw new ShapeError("quantize", `x [..., n] with n a multiple of ${elements}`, formatSpec(x), "pad it");
    return { dtype, shape: x.shape };
  },
  // Does not count the search for scales of k-quants.
  cost: (inputs, _params, y) => ({ ...elementwiseCost(3, inputs, y), bytes: byteLength(inputs[0]) + byteLength(y) }),
};
