import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { requireBoolean } from "./shared/checks.ts";
import { inferPool, type PoolParams } from "./shared/pool.ts";

export interface AvgPool2dParams extends PoolParams {
  /** Whether the padding's zeros count: true divides by the kernel's size everywhere, as PyTorch does by default. */
  readonly countPadding: boolean;
}

/**
 * Average pooling: the mean of each window.
 * `x [N, C, H, W] -> y [N, C, H', W']`, f32, with `H' = floor((H + 2 padding - kernel) / stride) + 1`, and `W'` likewise.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} unless x has four axes and the kernel fits into the padded image
 * @throws {ArgumentError} if an option is out of range
 */
export const avgPool2d: Op<["x"], AvgPool2dParams, "stride" | "padding" | "countPadding"> = {
  name: "avgPool2d",
  inputs: ["x"],
  defaults: { stride: null, padding: [0, 0], countPadding: true },
  required: ["kernel"],
  infer([x], params) {
    requireBoolean("avgPool2d", "countPadding", params.countPadding);
    return inferPool("avgPool2d", x, params);
  },
  cost: ([x], { kernel }, y) => ({ flops: kernel[0] * kernel[1] * elementCount(y.shape), bytes: byteLength(x) + byteLength(y) }),
};
