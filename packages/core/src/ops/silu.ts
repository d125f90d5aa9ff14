import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = x / (1 + exp(-x))`, also called swish (Ramachandran et al., 2017). `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const silu: Op<["x"]> = unary({ name: "silu", defaults: {}, flops: 4, f: (x) => x / (1 + Math.exp(-x)) });
