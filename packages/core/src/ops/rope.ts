import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { requireAxes, requireExtent, requireNumber, requireOneOf, requirePositive, requireShape } from "./shared/checks.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface RopeParams {
  /** Number of leading elements of each head to rotate, an even number; 0 means all. */
  readonly dims: number;
  /** Base of the geometric series of frequencies. */
  readonly base: number;
  /** Elements that form pair `i`, with llama.cpp's names: `2i` and `2i + 1` for "norm", `i` and `i + dims / 2` for "neox". */
  readonly ropeType: "norm" | "neox";
  /** Factor of the positions: 0.5 doubles the context by linear scaling. */
  readonly scale: number;
}

/**
 * Rotary position embedding (Su et al., 2021): rotates pair `i` of each head by
 * `angle(t, i) = positions[t] * scale * base^(-2i / dims) / freqFactors[i]`, which maps `(p, q)` to `(p cos - q sin, p sin + q cos)`.
 * `x [T, H, D], positions [T] i32, freqFactors [dims / 2]? -> y [T, H, D]`, f32. Elements from `dims` on are copied. Without `freqFactors`
 * every factor is 1.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} if an option is out of range, or `dims` is odd
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
    if (dims === 0 && d % 2 !== 0) throw new ArgumentError("rope", "dims for an odd D", `dims 0 (all) of D = ${d}`, "pass an even dims");
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
