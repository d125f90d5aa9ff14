import type { Op } from "../program/op.ts";
import { type SoftmaxParams, softmaxLike } from "./shared/softmax.ts";

/**
 * Softmax along an axis: `y = exp(x - max(x)) / sum(exp(x - max(x)))`.
 * `x [...] -> y [...]`, f32. As in PyTorch, a line of only -Infinity gives NaN.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar, which has no axes
 * @throws {ArgumentError} if x has no such axis
 */
export const softmax: Op<["x"], SoftmaxParams, "axis"> = softmaxLike("softmax", false);
