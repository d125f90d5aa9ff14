import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** Sum with broadcasting: `y = a + b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const add: Op<["a", "b"]> = binary({ name: "add", f: (a, b) => a + b, i32: (a, b) => (a + b) | 0 });
