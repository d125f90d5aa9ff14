import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * `y = x * min(max(x + 3, 0), 6) / 6`; 0 up to -3, x from 3 (Howard et al., 2019). `x [...] -> y [...]`.
 * @throws {DTypeError} unless f32
 */
export const hardswish: Op<["x"]> = unary({
  name: "hardswish",
  defaults: {},
  flops: 4,
  f: (x) => (x <= -3 ? 0 : x >= 3 ? x : (x * (x + 3)) / 6),
});
