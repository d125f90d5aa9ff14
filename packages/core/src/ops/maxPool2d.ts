import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { inferPool, type PoolParams } from "./shared/pool.ts";

/**
 * Max pooling: the largest value of each window, NaN if the window contains NaN. Padding never counts.
 * `x [N, C, H, W] -> y [N, C, H', W']`, f32, with `H' = floor((H + 2 padding - kernel) / stride) + 1`, and `W'` likewise.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} unless x has four axes and the kernel fits into the padded image
 * @throws {ArgumentError} if an option is out of range
 */
export const maxPool2d: Op<["x"], PoolParams, "stride" | "padding"> = {
  name: "maxPool2d",
  inputs: ["x"],
  defaults: { stride: null, padding: [0, 0] },
  required: ["kernel"],
  infer: ([x], params) => inferPool("maxPool2d", x, params),
  cost: ([x], { kernel }, y) => ({ flops: kernel[0] * kernel[1] * elementCount(y.shape), bytes: byteLength(x) + byteLength(y) }),
};
