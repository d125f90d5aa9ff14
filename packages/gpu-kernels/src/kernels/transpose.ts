import { elementAt } from "@centella/core/backend";
import { asValue, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuCall, type GpuKernelOf, type GpuStep, input, output } from "../kernel.ts";
import { countOf, moveStep, unitsOf } from "../shared/moving.ts";
import { type Permutation, permutationOf } from "../shared/permutation.ts";
import { normalAxis } from "../shared/strided.ts";
import { isTiled, tiledTranspose } from "../shared/transposeTiles.ts";

export const transpose: GpuKernelOf<"transpose"> = {
  steps: (call, { axes }) => {
    const { shape, dtype } = call.inputs[0];
    const order = axes?.map((axis) => normalAxis(axis, shape.length)) ?? shape.map((_, axis) => axis).reverse();
    const permutation = permutationOf(shape, order);
    return [isTiled(dtype, permutation) ? tiledTranspose(call, permutation) : stridedCopy(call, permutation)];
  },
};

/** A lane per unit of the result. Where the last axis stays the last one, its elements are moved in pieces. */
function stridedCopy(call: GpuCall, { axes, order }: Permutation): GpuStep {
  const { dtype } = call.output;
  const last = axes.length - 1;
  const staysLast = order.at(-1) === last;
  const { arePieces, counts } = unitsOf(dtype, { inner: staysLast && last >= 0 ? elementAt(axes, last) : [] });
  const inUnits = axes.map((axis, i) => (staysLast && i === last ? counts.inner : axis));
  return moveStep({
    name: dtype,
    args: { x: input(call, 0), y: output(call) },
    shape: order.flatMap((axis) => elementAt(inUnits, axis)),
    arePieces,
    from: (scope, index, load) => {
      const { k } = scope;
      const extents = inUnits.map((axis) => countOf(scope, axis));
      const strides = stridesOf(k, extents);
      const of = <T>(each: readonly T[]): readonly T[] => order.map((axis) => elementAt(each, axis));
      return load("x", asValue(k, offset(k, unflatten(k, index, of(extents)), of(strides))));
    },
  });
}
