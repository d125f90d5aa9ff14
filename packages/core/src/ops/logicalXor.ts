import type { Op } from "../program/op.ts";
import { logical } from "./shared/logic.ts";

/** `y = a != b` with broadcasting. `a [...], b [...] -> y [...]`, all bool. @throws {ShapeError | DTypeError} */
export const logicalXor: Op<["a", "b"]> = logical("logicalXor", (a, b) => a !== b);
