import { describe } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { type Dim, formatSpec, sameDim, type TensorSpec } from "../spec.ts";
import { isDim, requireNumber, requireWhole, resolveAxis } from "./shared/checks.ts";
import { plainTypes } from "./shared/dtypes.ts";
import { elementwiseCost, requireDType } from "./shared/elementwise.ts";

export interface SliceParams {
  /** Axis to cut. A negative axis counts from the end. */
  readonly axis: number;
  /** First index. A negative index counts from the end. */
  readonly start: number;
  /**
   * Index after the last one. A negative index counts from the end; null takes the rest of the axis. A symbolic dim takes the number
   * of elements that the run binds it to.
   */
  readonly end: Dim | null;
  /** Distance between the taken indices, a whole number from 1. */
  readonly step: number;
}

/**
 * Part of an axis: `y[..., i, ...] = x[..., start + i * step, ...]` for indices below `end`. Several slices split a tensor.
 * `x [..., n, ...] -> y [..., ceil((end - start) / step), ...]`, any plain dtype.
 *
 * Bounds outside the axis are errors; they are not clipped. A symbolic axis can only be taken whole. A symbolic `end` needs `start: 0` and
 * `step: 1`.
 * @throws {DTypeError} unless x has a plain dtype
 * @throws {ShapeError} if x is a scalar
 * @throws {ArgumentError} if the axis or a bound is out of range
 */
export const slice: Op<["x"], SliceParams, "start" | "end" | "step"> = {
  name: "slice",
  inputs: ["x"],
  defaults: { start: 0, end: null, step: 1 },
  required: ["axis"],
  infer([x], params) {
    requireDType("slice", "x", x, plainTypes);
    const axis = resolveAxis("slice", params.axis, x.shape.length);
    requireWhole("slice", "step", params.step, 1);
    return { dtype: x.dtype, shape: x.shape.map((dim, i) => (i === axis ? extentOf(x, dim, params) : dim)) };
  },
  cost: (_inputs, _params, y) => elementwiseCost(0, [y], y),
};

function extentOf(x: TensorSpec, dim: Dim, { start, end, step }: SliceParams): Dim {
  if (typeof end === "object" && end !== null) {
    if (!isDim(end)) throw new ArgumentError("slice", "end to be a whole number, a dim or null", describe(end), "null is the axis's end");
    if (start === 0 && step === 1 && (sameDim(end, dim) || (typeof dim === "number" && end.max <= dim))) return end;
    const expected = `a symbolic end of at most the axis's extent, with start 0 and step 1, for ${formatSpec(x)}`;
    throw new ArgumentError(
      "slice",
      expected,
      `${end.name}≤${end.max}, start ${start}, step ${step}`,
      "slice from 0 in steps of 1, up to a dim with a smaller maximum",
    );
  }
  if (typeof dim !== "number") {
    if (start === 0 && end === null && step === 1) return dim;
    throw new ArgumentError(
      "slice",
      `all of the symbolic axis ${dim.name}`,
      `start ${start}, end ${end}, step ${step}`,
      "slice other axes",
    );
  }
  const bound = (option: string, value: number): number => {
    requireNumber("slice", option, value, `a whole number from ${-dim} to ${dim}`, (n) => Number.isInteger(n) && n >= -dim && n <= dim);
    return value < 0 ? value + dim : value;
  };
  const [from, to] = [bound("start", start), bound("end", end ?? dim)];
  if (from > to) throw new ArgumentError("slice", "start up to end", `start ${start} and end ${end} of ${dim}`, "swap them");
  return Math.ceil((to - from) / step);
}
