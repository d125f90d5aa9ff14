import { isQuantizable, type QuantizableType } from "@centella/quant";
import { describe } from "@centella/quant/checks";
import { isQuantized, layoutOf } from "../dtype.ts";
import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, formatSpec } from "../spec.ts";
import { requireExtent } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

/** The block types that the op makes: those that ggml has a quantiser for and that need no importance matrix. */
export type QuantizedType = Exclude<QuantizableType, "f32" | "f16" | "bf16">;

/** Parameters of `quantize`. */
export interface QuantizeParams {
  /** The block type. */
  readonly dtype: QuantizedType;
}

/**
 * Rounds to blocks along the last axis, bit for bit as ggml does. `x [..., n] f32 -> y [..., n]` of a block type, n a multiple of its
 * block. Values must be finite: the scalar reference throws, elsewhere a block with one that is not has NaN as its scale. The other block
 * types are read (`dequantize`), not made; `cast` makes f16 and bf16.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const quantize: Op<["x"], QuantizeParams, "dtype"> = {
  name: "quantize",
  inputs: ["x"],
  defaults: { dtype: "q8_0" },
  infer([x], { dtype }) {
    requireDType("quantize", "x", x, ["f32"]);
    if (typeof dtype !== "string" || !isQuantizable(dtype) || !isQuantized(dtype))
      throw new ArgumentError("quantize", "dtype to be a block type that has a quantiser", describe(dtype), 'q8_0, q4_K or "cast" for f16');
    const { elements } = layoutOf(dtype);
    const last = x.shape.at(-1);
    if (last === undefined || requireExtent("quantize", "the last axis of x", last) % elements !== 0)
      throw new ShapeError("quantize", `x [..., n] with n a multiple of ${elements}`, formatSpec(x), "pad it");
    return { dtype, shape: x.shape };
  },
  // The searches of the k-quants are not counted.
  cost: (inputs, _params, y) => ({ ...elementwiseCost(3, inputs, y), bytes: byteLength(inputs[0]) + byteLength(y) }),
};
