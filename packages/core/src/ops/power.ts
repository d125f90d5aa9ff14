import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";
import { ieeePower } from "./shared/power.ts";

/**
 * Power of two tensors: `y = a^b`, by the rules of IEEE 754. `pow` has a constant exponent.
 * `a [...], b [...] -> y [...]` with broadcasting, f32.
 *
 * A negative base with a fractional exponent gives NaN. `a = 1` or `b = 0` gives 1, even if the other is NaN.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless both inputs are f32
 */
export const power: Op<["a", "b"]> = binary({ name: "power", f: ieeePower });
