import type { Op } from "../program/op.ts";
import { type ArgmaxParams, argExtremum } from "./shared/argExtremum.ts";

/**
 * Index of the largest value along an axis, the first of equals; a NaN counts as the largest (numpy's rule).
 * `x [...] f32 -> y [...] i32` without the axis. An axis that is empty only in a run gives 0.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const argmax: Op<["x"], ArgmaxParams, "axis"> = argExtremum("argmax", (value, best) => value > best);
