import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** Largest whole number up to x. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const floor: Op<["x"]> = unary({ name: "floor", defaults: {}, flops: 1, f: (x) => Math.floor(x) });
