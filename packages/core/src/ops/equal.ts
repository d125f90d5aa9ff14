import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/** `y = a == b`; false where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool. @throws {ShapeError | DTypeError} */
export const equal: Op<["a", "b"]> = comparison("equal", (a, b) => a === b);
