import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { inferPool, type PoolParams } from "./shared/pool.ts";

/**
 * Largest value of each window; padding never counts, NaN does.
 * `x [N, C, H, W] -> y [N, C, H', W']`, f32, `H' = floor((H + 2 padding - kernel) / stride) + 1`.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const maxPool2d: Op<["x"], PoolParams, "stride" | "padding"> = {
  name: "maxPool2d",
  inputs: ["x"],
  defaults: { stride: null, padding: [0, 0] },
  required: ["kernel"],
  infer: ([x], params) => inferPool("maxPool2d", x, params),
  cost: ([x], { kernel }, y) => ({ flops: kernel[0] * kernel[1] * elementCount(y.shape), bytes: byteLength(x) + byteLength(y) }),
};
