import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/** `y = a < b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool. @throws {ShapeError | DTypeError} */
export const less: Op<["a", "b"]> = comparison("less", (a, b) => a < b);
