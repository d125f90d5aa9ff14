import type { Op } from "../program/op.ts";
import { type ArgmaxParams, argExtremum } from "./shared/argExtremum.ts";

/**
 * Index of the largest value along an axis, the first one among equals. As in numpy, NaN counts as the largest.
 * `x [...] f32 -> y [...] i32` without the axis. A symbolic axis that is empty in a run gives 0.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar or the axis is empty
 * @throws {ArgumentError} if x has no such axis
 */
export const argmax: Op<["x"], ArgmaxParams, "axis"> = argExtremum("argmax", (value, best) => value > best);
