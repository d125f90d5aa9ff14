import type { ScalarType } from "../dtype.ts";
import type { Op } from "../program/op.ts";
import { byteLength, type Shape } from "../spec.ts";
import { requireDims, requireOneOf } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { requireValue } from "./shared/values.ts";

/** Parameters of `full`. */
export interface FullParams {
  /** Shape of the result. */
  readonly shape: Shape;
  /** Value of every element, which `dtype` must be able to represent. */
  readonly value: number;
  /** Dtype of the result, any plain dtype. */
  readonly dtype: ScalarType;
}

/**
 * Tensor with the same value in every element.
 * `-> y [...shape]`, any plain dtype.
 * @throws {ShapeError | ArgumentError} if `shape` is not a list of extents, or the dtype cannot hold the value
 */
export const full: Op<[], FullParams, "dtype"> = {
  name: "full",
  inputs: [],
  defaults: { dtype: "f32" },
  required: ["shape", "value"],
  infer(_inputs, { shape, value, dtype }) {
    requireDims("full", shape);
    requireOneOf("full", "dtype", dtype, plainTypes);
    requireValue("full", dtype, value);
    return { dtype, shape };
  },
  cost: (_inputs, _params, y) => ({ flops: 0, bytes: byteLength(y) }),
};
