import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/**
 * Difference with broadcasting: `y = a - b`. i32 differences wrap.
 * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are f32 or both are i32
 */
export const sub: Op<["a", "b"]> = binary({ name: "sub", f: (a, b) => a - b, i32: (a, b) => (a - b) | 0 });
