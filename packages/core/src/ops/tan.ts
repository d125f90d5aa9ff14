import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = tan(x)`, x in radians. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const tan: Op<["x"]> = unary({ name: "tan", defaults: {}, flops: 1, f: (x) => Math.tan(x) });
