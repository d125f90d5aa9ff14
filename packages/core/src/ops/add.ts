import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/**
 * Sum with broadcasting: `y = a + b`. i32 sums wrap.
 * `a [...], b [...] -> y [...]` with broadcasting, f32 or i32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are f32 or both are i32
 */
export const add: Op<["a", "b"]> = binary({ name: "add", f: (a, b) => a + b, i32: (a, b) => (a + b) | 0 });
