import { isQuantized } from "../dtype.ts";
import { DTypeError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { elementCount, formatShape, formatSpec, type Shape } from "../spec.ts";
import { requireDims } from "./shared/checks.ts";

export interface ReshapeParams {
  /** Shape of the result. It has the symbolic dims of `x` and the same product of the remaining extents. */
  readonly shape: Shape;
}

/**
 * The same elements, in row-major order, with another shape. Nothing is copied or computed.
 * `x [...] -> y [...shape]`, any plain dtype.
 * @throws {ShapeError} if the number of elements would change
 * @throws {DTypeError} if x has a block type
 * @throws {ArgumentError} if `shape` is not a list of extents
 */
export const reshape: Op<["x"], ReshapeParams> = {
  name: "reshape",
  inputs: ["x"],
  defaults: {},
  required: ["shape"],
  alias: true,
  infer([x], { shape }) {
    if (isQuantized(x.dtype)) throw new DTypeError("reshape", "a plain dtype", formatSpec(x), "declare the tensor in that shape");
    requireDims("reshape", shape);
    if (literalCount(shape) !== literalCount(x.shape) || symbols(shape) !== symbols(x.shape)) {
      throw new ShapeError("reshape", `a shape with as many elements as ${formatShape(x.shape)}`, formatShape(shape), "change an extent");
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
