import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/**
 * Quotient with broadcasting: `y = a / b`. Division by zero gives an infinity or NaN.
 * `a [...], b [...] -> y [...]` with broadcasting, f32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are f32
 */
export const div: Op<["a", "b"]> = binary({ name: "div", f: (a, b) => a / b });
