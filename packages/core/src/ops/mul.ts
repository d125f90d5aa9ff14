import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** Product with broadcasting: `y = a * b`, f32 or wrapping i32. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const mul: Op<["a", "b"]> = binary({ name: "mul", f: (a, b) => a * b, i32: Math.imul });
