import type { Op } from "../program/op.ts";
import { binary } from "./shared/elementwise.ts";
import { ieeePower } from "./shared/power.ts";

/**
 * `y = a^b` with broadcasting, f32, as IEEE 754 defines it: NaN for a negative base with an exponent that is no whole number,
 * 1 for `a = 1` or `b = 0` whatever the other is. `pow` has a fixed exponent. `a [...], b [...] -> y [...]`.
 * @throws {ShapeError | DTypeError}
 */
export const power: Op<["a", "b"]> = binary({ name: "power", f: ieeePower });
