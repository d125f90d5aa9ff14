import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, type Dim, elementCount } from "../spec.ts";
import { requireDims, requireFinite, requireNumber, requireOneOf } from "./shared/checks.ts";

export interface ArangeParams {
  /** Number of elements, which may be symbolic. */
  readonly count: Dim;
  /** The first number. */
  readonly start: number;
  /** Difference between neighbours. */
  readonly step: number;
  /** The dtype of the result. */
  readonly dtype: "f32" | "i32";
}

/**
 * Evenly spaced numbers: `y[i] = start + i * step`.
 * `-> y [count]`, f32 or i32.
 *
 * Takes a count where numpy takes an end: with an end, the extent would depend on how a quotient rounds.
 * @throws {ShapeError | ArgumentError} for a count that is no extent, and for numbers that the dtype cannot hold
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
      throw new ArgumentError("arange", "a last element that i32 can hold", String(last), "lower count, or use f32");
    return { dtype, shape: [count] };
  },
  cost: (_inputs, _params, y) => ({ flops: 2 * elementCount(y.shape), bytes: byteLength(y) }),
};
