import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = cos(x)`, x in radians. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const cos: Op<["x"]> = unary({ name: "cos", defaults: {}, flops: 1, f: (x) => Math.cos(x) });
