import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/**
 * Magnitude of `a` with the sign bit of `b`: a `b` of -0 makes the result negative.
 * `a [...], b [...] -> y [...]` with broadcasting, f32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are f32
 */
export const copysign: Op<["a", "b"]> = binary({
  name: "copysign",
  f: (a, b) => (b < 0 || Object.is(b, -0) ? -Math.abs(a) : Math.abs(a)),
});
