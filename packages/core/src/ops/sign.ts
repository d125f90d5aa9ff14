import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = 1` above 0, `-1` below, `0` at 0; NaN stays NaN. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const sign: Op<["x"]> = unary({ name: "sign", defaults: {}, flops: 1, f: (x) => Math.sign(x) });
