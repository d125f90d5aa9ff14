import { isInteger } from "../dtype.ts";
import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { bytesPerRow } from "./shared/axes.ts";
import { requireAxes, requireExtent, requireOneOf, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { type Activations, activationModes } from "./shared/transposedProduct.ts";

export interface MoeMatmulParams {
  /** Precision of the operands; see the `matmul` op. */
  readonly activations: Activations;
}

/**
 * Multiplies each token by the matrices of its chosen experts: `y[t, i] = experts[ids[t, i]] · x[t, i]`.
 * `x [T, K] or [T, k, K], experts [E, N, K], ids [T, k] i32 -> y [T, k, N]`, f32. `x [T, K]` has one vector for all experts of a token.
 * `experts` may also be f16, bf16 or a block type.
 *
 * An id outside `[0, E)` is an error on the scalar reference; other backends give zeros.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} for an unknown option, and for an id out of range when the reference runs
 */
export const moeMatmul: Op<["x", "experts", "ids"], MoeMatmulParams, keyof MoeMatmulParams> = {
  name: "moeMatmul",
  computeBound: true,
  inputs: ["x", "experts", "ids"],
  defaults: { activations: "f32" },
  infer([x, experts, ids], { activations }) {
    requireDType("moeMatmul", "x", x, ["f32"]);
    if (isInteger(experts.dtype)) requireDType("moeMatmul", "experts", experts, ["f32", "f16", "bf16", "a block type"]);
    requireDType("moeMatmul", "ids", ids, ["i32"]);
    requireOneOf("moeMatmul", "activations", activations, activationModes);
    const [, n, k] = requireAxes("moeMatmul", "experts", experts, ["E", "N", "K"]);
    const [tokens, chosen] = requireAxes("moeMatmul", "ids", ids, ["T", "k"]);
    for (const [name, dim] of Object.entries({ N: n, K: k, k: chosen })) requireExtent("moeMatmul", name, dim);
    if (x.shape.length !== 2 && x.shape.length !== 3)
      throw new ShapeError("moeMatmul", "x [T, K] or [T, k, K]", formatSpec(x), "reshape it");
    requireShape("moeMatmul", "x", x, x.shape.length === 2 ? [tokens, k] : [tokens, chosen, k]);
    return { dtype: "f32", shape: [tokens, chosen, n] };
  },
  cost([x, experts, ids], _params, y) {
    const [count, , k] = experts.shape as readonly [number, number, number];
    const used = Math.min(count, elementCount(ids.shape));
    return { flops: 2 * k * elementCount(y.shape), bytes: byteLength(x) + byteLength(ids) + used * bytesPerRow(experts) + byteLength(y) };
  },
};
