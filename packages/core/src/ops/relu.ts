import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = max(x, 0)`; NaN stays NaN. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const relu: Op<["x"]> = unary({ name: "relu", defaults: {}, flops: 1, f: (x) => Math.max(x, 0) });
