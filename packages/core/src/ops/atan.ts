import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = atan(x)` in radians. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const atan: Op<["x"]> = unary({ name: "atan", defaults: {}, flops: 1, f: (x) => Math.atan(x) });
