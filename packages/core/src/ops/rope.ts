import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { requireAxes, requireExtent, requireNumber, requireOneOf, requirePositive, requireShape } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface RopeParams {
  /** How many leading elements of each head are rotated, an even number; 0 means all. */
  readonly dims: number;
  /** Base of the geometric series of frequencies. */
  readonly base: number;
  /** Elements that form a pair, in the names of llama.cpp: (2i, 2i + 1) for "norm", (i, i + dims / 2) for "neox". */
  readonly ropeType: "norm" | "neox";
  /** Multiplies the position: linear context scaling by 2 is 0.5. */
  readonly scale: number;
}

/**
 * Rotary position embedding (Su et al., 2021): rotates pair `i` of head vectors by
 * `angle(t, i) = positions[t] * scale * base^(-2i / dims) / freqFactors[i]`, `(p, q) -> (p cos - q sin, p sin + q cos)`.
 * `x [T, H, D], positions [T] i32, freqFactors [dims / 2] -> y [T, H, D]`, f32. Elements from `dims` on are copied; without
 * `freqFactors` they are 1.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const rope: Op<["x", "positions"], RopeParams, "dims" | "base" | "scale", ["freqFactors"]> = {
  name: "rope",
  inputs: ["x", "positions"],
  optionalInputs: ["freqFactors"],
  defaults: { dims: 0, base: 10000, scale: 1 },
  required: ["ropeType"],
  infer([x, positions, freqFactors], { dims, base, ropeType, scale }) {
    requireDType("rope", "x", x, ["f32"]);
    const [tokens, , headSize] = requireAxes("rope", "x", x, ["T", "H", "D"]);
    const d = requireExtent("rope", "D of x", headSize);
    requireDType("rope", "positions", positions, ["i32"]);
    requireShape("rope", "positions", positions, [tokens]);
    requireNumber("rope", "dims", dims, `an even number from 0 to D = ${d}`, (n) => Number.isInteger(n) && n >= 0 && n <= d && n % 2 === 0);
    if (dims === 0 && d % 2 !== 0) throw new ArgumentError("rope", "dims where D is odd", `dims 0 (all) of D = ${d}`, "pass an even dims");
    requirePositive("rope", "base", base);
    requirePositive("rope", "scale", scale);
    requireOneOf("rope", "ropeType", ropeType, ["norm", "neox"]);
    if (freqFactors !== undefined) {
      requireDType("rope", "freqFactors", freqFactors, ["f32"]);
      requireShape("rope", "freqFactors", freqFactors, [(dims || d) / 2]);
    }
    return x;
  },
  cost: (inputs, _params, y) => elementwiseCost(5, inputs, y),
};
