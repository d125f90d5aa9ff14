import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/**
 * Whether `a` is smaller: `y = a < b`; false if either is NaN.
 * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} if the dtypes differ or are not numbers
 */
export const less: Op<["a", "b"]> = comparison("less", (a, b) => a < b);
