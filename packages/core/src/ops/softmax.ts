import type { Op } from "../program/op.ts";
import { type SoftmaxParams, softmaxLike } from "./shared/softmax.ts";

/**
 * `y = exp(x - max(x)) / sum(exp(x - max(x)))` along an axis. `x [...] -> y [...]`, f32. A row of nothing but -Infinity
 * gives NaN, as in PyTorch.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const softmax: Op<["x"], SoftmaxParams, "axis"> = softmaxLike("softmax", false);
