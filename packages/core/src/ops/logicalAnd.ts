import type { Op } from "../program/op.ts";
import { logical } from "./shared/logic.ts";

/**
 * Logical and: `y = a && b`.
 * `a [...], b [...] -> y [...]` with broadcasting, all bool.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are bool
 */
export const logicalAnd: Op<["a", "b"]> = logical("logicalAnd", (a, b) => a && b);
