import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** The whole part: toward zero. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const trunc: Op<["x"]> = unary({ name: "trunc", defaults: {}, flops: 1, f: (x) => Math.trunc(x) });
