import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { requireBoolean } from "./shared/checks.ts";
import { inferPool, type PoolParams } from "./shared/pool.ts";

export interface AvgPool2dParams extends PoolParams {
  /** Divide by the kernel's size everywhere, the zeros of the padding included, as PyTorch does unless told otherwise. */
  readonly countPadding: boolean;
}

/**
 * Mean of each window.
 * `x [N, C, H, W] -> y [N, C, H', W']`, f32, `H' = floor((H + 2 padding - kernel) / stride) + 1`.
 * @throws {ShapeError | DTypeError | ArgumentError}
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
