import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** Difference with broadcasting: `y = a - b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const sub: Op<["a", "b"]> = binary({ name: "sub", f: (a, b) => a - b, i32: (a, b) => (a - b) | 0 });
