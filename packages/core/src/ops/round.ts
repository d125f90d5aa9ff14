import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/** Nearest whole number, halves to the even one, as numpy and IEEE 754 do. `x [...] -> y [...]`. @throws {DTypeError} unless f32 */
export const round: Op<["x"]> = unary({ name: "round", defaults: {}, flops: 1, f: (x) => roundHalfToEven(x) });

/** `Math.round` takes halves up. */
function roundHalfToEven(x: number): number {
  const up = Math.round(x);
  return up - x === 0.5 && up % 2 !== 0 ? up - 1 : up;
}
