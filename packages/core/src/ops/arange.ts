import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, type Dim, elementCount } from "../spec.ts";
import { requireDims, requireFinite, requireNumber, requireOneOf } from "./shared/checks.ts";

export interface ArangeParams {
  /** How many numbers. It may be symbolic. */
  readonly count: Dim;
  /** The first number. */
  readonly start: number;
  /** Difference between neighbours. */
  readonly step: number;
  /** The dtype of the result. */
  readonly dtype: "f32" | "i32";
}

/**
 * Equidistant numbers: `y[i] = start + i * step`. `-> y [count]`, f32 or i32. A count instead of an end: the extent of numpy's form
 * depends on how a quotient rounds.
 * @throws {ShapeError | ArgumentError} also where an i32 would overflow
 */
export const arange: Op<[], ArangeParams, "start" | "step" | "dtype"> = {
  name: "arange",
  inputs: [],
  defaults: { start: 0, step: 1, dtype: "f32" },
  required: ["count"],
  infer(_inputs, { count, start, step, dtype }) {
    requireDims("arange", [count]);
    requireOneOf("arange", "dtype", dtype, ["f32", "i32"]);
    for (const [option, value] of Object.entries({ start, step })) {
      if (dtype === "f32") requireFinite("arange", option, value);
      else requireNumber("arange", option, value, "a whole number of 32 bits", (n) => n === (n | 0));
    }
    const last = start + step * Math.max(0, (typeof count === "number" ? count : count.max) - 1);
    if (dtype === "i32" && last !== (last | 0))
      throw new ArgumentError("arange", "a last element that i32 can hold", String(last), "count less far, or use f32");
    return { dtype, shape: [count] };
  },
  cost: (_inputs, _params, y) => ({ flops: 2 * elementCount(y.shape), bytes: byteLength(y) }),
};
