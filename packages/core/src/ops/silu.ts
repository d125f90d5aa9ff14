import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Sigmoid linear unit, also called swish (Ramachandran et al., 2017): `y = x / (1 + exp(-x))`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const silu: Op<["x"]> = unary({ name: "silu", defaults: {}, flops: 4, f: (x) => x / (1 + Math.exp(-x)) });
