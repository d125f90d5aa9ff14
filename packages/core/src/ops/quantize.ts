import { roundTo } from "../decode.ts";
import { ShapeError } from "../errors.ts";
import type { Op } from "../op.ts";
import { byteLength, formatSpec } from "../spec.ts";
import { requireExtent, requireOneOf } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface QuantizeParams {
  readonly dtype: "q8_0";
}

/**
 * Rounds to blocks along the last axis, bit for bit as ggml does. `x [..., n] f32 -> y [..., n]` q8_0, n a multiple of its block
 * of 32. Values must be finite. Other block types are read (`dequantize`), not made.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const quantize: Op<["x"], QuantizeParams, "dtype"> = {
  name: "quantize",
  inputs: ["x"],
  defaults: { dtype: "q8_0" },
  infer([x], { dtype }) {
    requireDType("quantize", "x", x!, ["f32"]);
    requireOneOf("quantize", "dtype", dtype, ["q8_0"]);
    const last = x!.shape.at(-1);
    if (last === undefined || requireExtent("quantize", "the last axis of x", last) % 32 !== 0)
      throw new ShapeError("quantize", "x [..., n] with n a multiple of 32", formatSpec(x!), "pad it");
    return { dtype, shape: x!.shape };
  },
  cost: (inputs, _params, y) => ({ ...elementwiseCost(3, inputs, y), bytes: byteLength(inputs[0]!) + byteLength(y) }),
  reference([x], { dtype }, y) {
    y.data.set(roundTo(dtype, x!.data as Float32Array));
  },
};
