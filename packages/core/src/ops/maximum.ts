import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** The larger of two with broadcasting, f32 or i32; NaN if either is. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const maximum: Op<["a", "b"]> = binary({ name: "maximum", f: Math.max, i32: Math.max });
