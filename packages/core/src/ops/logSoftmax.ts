import type { Op } from "../program/op.ts";
import { type SoftmaxParams, softmaxLike } from "./shared/softmax.ts";

/**
 * Logarithm of the softmax along an axis: `y = x - max(x) - log(sum(exp(x - max(x))))`.
 * `x [...] -> y [...]`, f32. As in PyTorch, a line of only -Infinity gives NaN.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar, which has no axes
 * @throws {ArgumentError} if x has no such axis
 */
export const logSoftmax: Op<["x"], SoftmaxParams, "axis"> = softmaxLike("logSoftmax", true);
