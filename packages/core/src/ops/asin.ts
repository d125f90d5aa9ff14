import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = asin(x)` in radians; NaN outside of [-1, 1]. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const asin: Op<["x"]> = unary({ name: "asin", defaults: {}, flops: 1, f: (x) => Math.asin(x) });
