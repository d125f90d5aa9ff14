import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";

/** The magnitude of `a` with the sign of `b`, its sign bit: -0 counts as negative. With broadcasting, f32. `a [...], b [...] -> y [...]`. @throws {ShapeError | DTypeError} */
export const copysign: Op<["a", "b"]> = binary({
  name: "copysign",
  f: (a, b) => (b < 0 || Object.is(b, -0) ? -Math.abs(a) : Math.abs(a)),
});
