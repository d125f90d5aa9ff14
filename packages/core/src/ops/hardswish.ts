import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Hard swish (Howard et al., 2019): `y = x * min(max(x + 3, 0), 6) / 6`. The result is 0 up to -3 and x from 3.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const hardswish: Op<["x"]> = unary({
  name: "hardswish",
  defaults: {},
  flops: 4,
  f: (x) => (x <= -3 ? 0 : x >= 3 ? x : (x * (x + 3)) / 6),
});
