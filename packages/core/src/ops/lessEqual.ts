import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/** `y = a <= b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool. @throws {ShapeError | DTypeError} */
export const lessEqual: Op<["a", "b"]> = comparison("lessEqual", (a, b) => a <= b);
