import { DTypeError } from "../errors.ts";
import type { NoParams, Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { requireAxes, requireShape, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

/**
 * Copies `value` into a persistent, or into some of its rows, and returns the persistent's next version.
 * `target [...], value [...] -> y [...]`, or `target [n, q...], value [m, q...], indices [m]? i32 -> y [n, q...]`, of one dtype, f32 or i32.
 *
 * Rows with the index -1 are skipped; all others should differ in their indices. Other indices outside `[0, n)` are an error on the scalar
 * reference; other backends skip them, too.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ProgramError} unless `target` is the newest version of a persistent
 * @throws {ArgumentError} for an index out of range, when the reference runs
 */
export const assign: Op<["target", "value"], NoParams, never, ["indices"]> = {
  name: "assign",
  inputs: ["target", "value"],
  optionalInputs: ["indices"],
  defaults: {},
  writes: 0,
  infer([target, value, indices]) {
    requireDType("assign", "target", target, ["f32", "i32"]);
    if (value.dtype !== target.dtype)
      throw new DTypeError("assign", `value in ${target.dtype} as the target`, value.dtype, "cast the value");
    if (indices === undefined) requireShape("assign", "value", value, target.shape);
    else {
      requireDType("assign", "indices", indices, ["i32"]);
      const [rows] = requireAxes("assign", "indices", indices, ["m"]);
      resolveAxis("assign", 0, target.shape.length);
      requireShape("assign", "value", value, target.shape.with(0, rows));
    }
    return target;
  },
  cost: ([, value, indices]) => ({ flops: 0, bytes: 2 * byteLength(value) + (indices === undefined ? 0 : byteLength(indices)) }),
};
