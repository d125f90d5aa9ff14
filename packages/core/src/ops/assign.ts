import { DTypeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

/**
 * Copies `value` into a persistent and returns the persistent's next version.
 * `target [...], value [...] -> y [...]`, all of one shape and one dtype, f32 or i32.
 * @throws {ShapeError | DTypeError} if `value` has another shape or dtype than `target`, or the dtype is neither f32 nor i32
 * @throws {ProgramError} unless `target` is the newest version of a persistent
 */
export const assign: Op<["target", "value"]> = {
  name: "assign",
  inputs: ["target", "value"],
  defaults: {},
  writes: 0,
  infer([target, value]) {
    requireDType("assign", "target", target, ["f32", "i32"]);
    if (value.dtype !== target.dtype)
      throw new DTypeError("assign", `value in ${target.dtype} as the target`, value.dtype, "cast the value");
    requireShape("assign", "value", value, target.shape);
    return target;
  },
  cost: ([, value], _params, y) => ({ flops: 0, bytes: byteLength(value) + byteLength(y) }),
};
