import type { Op } from "../program/op.ts";
import { logical } from "./shared/logic.ts";

/**
 * Logical or: `y = a || b`.
 * `a [...], b [...] -> y [...]` with broadcasting, all bool.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are bool
 */
export const logicalOr: Op<["a", "b"]> = logical("logicalOr", (a, b) => a || b);
