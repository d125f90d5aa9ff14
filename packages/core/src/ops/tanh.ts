import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = tanh(x)`. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const tanh: Op<["x"]> = unary({ name: "tanh", defaults: {}, flops: 1, f: (x) => Math.tanh(x) });
