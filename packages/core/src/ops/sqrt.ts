import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = sqrt(x)`; NaN below 0. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const sqrt: Op<["x"]> = unary({ name: "sqrt", defaults: {}, flops: 1, f: (x) => Math.sqrt(x) });
