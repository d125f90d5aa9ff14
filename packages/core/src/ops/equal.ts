import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/**
 * Whether elements are equal: `y = a == b`; false if either is NaN.
 * `a [...], b [...] -> y [...] bool` with broadcasting; `a` and `b` share one number dtype.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} if the dtypes differ or are not numbers
 */
export const equal: Op<["a", "b"]> = comparison("equal", (a, b) => a === b);
