import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** The smaller of two with broadcasting, f32 or i32; NaN if either is. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const minimum: Op<["a", "b"]> = binary({ name: "minimum", f: Math.min, i32: Math.min });
