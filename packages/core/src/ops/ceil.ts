import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** Smallest whole number from x. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const ceil: Op<["x"]> = unary({ name: "ceil", defaults: {}, flops: 1, f: (x) => Math.ceil(x) });
