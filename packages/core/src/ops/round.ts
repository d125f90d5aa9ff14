import type { Op } from "../program/op.ts";
import { unary } from "./shared/elementwise.ts";

/**
 * Rounds to the nearest whole number, ties to even, as in numpy and IEEE 754.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 */
export const round: Op<["x"]> = unary({ name: "round", defaults: {}, flops: 1, f: (x) => roundHalfToEven(x) });

/** Unlike `Math.round`, which rounds halves up. */
function roundHalfToEven(x: number): number {
  const up = Math.round(x);
  return up - x === 0.5 && up % 2 !== 0 ? up - 1 : up;
}
