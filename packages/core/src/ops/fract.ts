import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** `y = x - floor(x)`, from 0 up to 1, as in shading languages; NaN for the infinities. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const fract: Op<["x"]> = unary({ name: "fract", defaults: {}, flops: 1, f: (x) => x - Math.floor(x) });
