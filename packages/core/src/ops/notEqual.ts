import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/**
 * Whether elements differ: `y = a != b`; true if either is NaN.
 * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} if the dtypes differ or are not numbers
 */
export const notEqual: Op<["a", "b"]> = comparison("notEqual", (a, b) => a !== b);
