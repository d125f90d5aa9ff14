import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = acos(x)` in radians; NaN outside of [-1, 1]. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const acos: Op<["x"]> = unary({ name: "acos", defaults: {}, flops: 1, f: (x) => Math.acos(x) });
