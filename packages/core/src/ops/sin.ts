import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = sin(x)`, x in radians. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const sin: Op<["x"]> = unary({ name: "sin", defaults: {}, flops: 1, f: (x) => Math.sin(x) });
