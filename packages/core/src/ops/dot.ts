import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { requireAxes, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

/**
 * Inner product of two vectors: `y = sum(a * b)`.
 * `a [n], b [n] -> y []`, f32.
 * @throws {ShapeError | DTypeError} unless both are f32 vectors of one length
 */
export const dot: Op<["a", "b"]> = {
  name: "dot",
  inputs: ["a", "b"],
  defaults: {},
  infer([a, b]) {
    requireDType("dot", "a", a, ["f32"]);
    requireDType("dot", "b", b, ["f32"]);
    requireShape("dot", "b", b, requireAxes("dot", "a", a, ["n"]));
    return { dtype: "f32", shape: [] };
  },
  cost: ([a, b], _params, y) => ({ flops: 2 * elementCount(a.shape), bytes: byteLength(a) + byteLength(b) + byteLength(y) }),
};
