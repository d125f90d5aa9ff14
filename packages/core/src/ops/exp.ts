import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = e^x`. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const exp: Op<["x"]> = unary({ name: "exp", defaults: {}, flops: 1, f: (x) => Math.exp(x) });
