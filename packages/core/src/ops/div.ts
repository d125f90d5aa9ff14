import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** Quotient with broadcasting: `y = a / b`, f32; a zero divisor gives an infinity or NaN. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const div: Op<["a", "b"]> = binary({ name: "div", f: (a, b) => a / b });
