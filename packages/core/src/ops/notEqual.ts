import type { Op } from "../program/op.ts";
import { comparison } from "./shared/logic.ts";

/** `y = a != b`; true where either is NaN. With broadcasting, of two of one number dtype: `a [...], b [...] -> y [...]` bool. @throws {ShapeError | DTypeError} */
export const notEqual: Op<["a", "b"]> = comparison("notEqual", (a, b) => a !== b);
