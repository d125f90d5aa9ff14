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
  /** A value that `dtype` can represent. */
  readonly value: number;
  /** A plain dtype. */
  readonly dtype: ScalarType;
}

/** A tensor of one value, in any plain dtype: `-> y [...shape]`. @throws {ShapeError | ArgumentError} */
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
