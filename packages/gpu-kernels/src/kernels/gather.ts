import { asValue, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { countOf, movedIf, moveStep, rowAndPlace, unitsOf, zeroUnit } from "../shared/moving.ts";
import { normalAxis } from "../shared/strided.ts";

/** An index outside the axis gives the fallback, or 0. */
export const gather: GpuKernelOf<"gather"> = {
  steps: (call, { axis: given }) => {
    const [x, indices, fallback] = call.inputs;
    const axis = normalAxis(given, x.shape.length);
    const before = x.shape.slice(0, axis);
    const outer = [...before, ...indices.shape];
    const { arePieces, counts } = unitsOf(x.dtype, { inner: x.shape.slice(axis + 1) });
    return [
      moveStep({
        name: fallback === undefined ? x.dtype : `${x.dtype}_fallback`,
        args: { x: input(call, 0), indices: input(call, 1), ...(fallback && { fallback: input(call, 2) }), y: output(call) },
        shape: [...outer, ...counts.inner],
        arePieces,
        from: (scope, at, load) => {
          const { k } = scope;
          const n = scope.extent(dimAt(x, axis));
          const inner = countOf(scope, counts.inner);
          const [place, within] = rowAndPlace(k, at, outer, inner);
          const [row, i] = before.length === 0 ? [0, place] : unflatten(k, place, [1, countOf(scope, indices.shape)]);
          const index = k.bitcast("u32", k.loadInteger("indices", asValue(k, i)));
          // As unsigned, a negative index is beyond the axis too.
          return movedIf(
            k,
            k.compare("lt", index, n),
            () => load("x", asValue(k, timesPlus(k, timesPlus(k, row, n, index), inner, within))),
            fallback === undefined ? zeroUnit(k, arePieces) : load("fallback", at),
          );
        },
      }),
    ];
  },
};
