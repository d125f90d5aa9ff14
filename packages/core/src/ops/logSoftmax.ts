import type { Op } from "../program/op.ts";
import { type SoftmaxParams, softmaxLike } from "./shared/softmax.ts";

/**
 * `y = x - max(x) - log(sum(exp(x - max(x))))` along an axis. `x [...] -> y [...]`, f32. A row of nothing but -Infinity
 * gives NaN, as in PyTorch.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const logSoftmax: Op<["x"], SoftmaxParams, "axis"> = softmaxLike("logSoftmax", true);
