import type { Op } from "../program/op.ts";
import { logical } from "./shared/logic.ts";

/** `y = a && b` with broadcasting. `a [...], b [...] -> y [...]`, all bool. @throws {ShapeError | DTypeError} */
export const logicalAnd: Op<["a", "b"]> = logical("logicalAnd", (a, b) => a && b);
