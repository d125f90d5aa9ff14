import { isQuantized } from "../dtype.ts";
import { DTypeError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { elementCount, formatShape, formatSpec, type Shape } from "../spec.ts";
import { requireDims } from "./shared/checks.ts";

export interface ReshapeParams {
  /** Symbolic dims of `x` must all appear; the product of the other extents must stay. */
  readonly shape: Shape;
}

/**
 * The same elements in row-major order, with another shape; nothing is computed. `x [...] -> y [...shape]`, any plain dtype.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const reshape: Op<["x"], ReshapeParams> = {
  name: "reshape",
  inputs: ["x"],
  defaults: {},
  required: ["shape"],
  alias: true,
  infer([x], { shape }) {
    if (isQuantized(x.dtype)) throw new DTypeError("reshape", "a plain dtype", formatSpec(x), "declare the tensor in the shape wanted");
    requireDims("reshape", shape);
    if (literalCount(shape) !== literalCount(x.shape) || symbols(shape) !== symbols(x.shape)) {
      throw new ShapeError("reshape", `a shape of as many elements as ${formatShape(x.shape)}`, formatShape(shape), "change an extent");
    }
    return { dtype: x.dtype, shape };
  },
  cost: () => ({ flops: 0, bytes: 0 }),
};

function literalCount(shape: Shape): number {
  return elementCount(shape.filter((dim) => typeof dim === "number"));
}

function symbols(shape: Shape): string {
  return JSON.stringify(shape.flatMap((dim) => (typeof dim === "number" ? [] : [dim.name])).sort());
}
