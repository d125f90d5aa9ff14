import { asValue, product, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../shared/rows.ts";
import { normalAxis } from "../shared/strided.ts";

/** An index outside the axis gives the fallback, or 0. */
export const gather: GpuKernelOf<"gather"> = {
  steps: (call, { axis: given }) => {
    const [x, indices, fallback] = call.inputs;
    const axis = normalAxis(given, x.shape.length);
    return [
      {
        kind: "map",
        name: fallback === undefined ? x.dtype : `${x.dtype}_fallback`,
        args: { x: input(call, 0), indices: input(call, 1), ...(fallback && { fallback: input(call, 2) }), y: output(call) },
        shape: call.output.shape,
        to: "y",
        body: (scope, at) => {
          const { k } = scope;
          const n = scope.extent(dimAt(x, axis));
          const inner = product(k, scope.extents(x.shape.slice(axis + 1)));
          const count = product(k, scope.extents(indices.shape));
          const [outer, i, within] = unflatten(k, at, [1, count, inner]);
          const index = k.bitcast("u32", k.loadInteger("indices", asValue(k, i)));
          const bits = k.variable("u32", fallback === undefined ? 0 : k.loadBits("fallback", at));
          // As unsigned, a negative index is beyond the axis too.
          k.if(k.compare("lt", index, n), () =>
            bits.set(k.loadBits("x", asValue(k, timesPlus(k, timesPlus(k, outer, n, index), inner, within)))),
          );
          return bits.get();
        },
      },
    ];
  },
};
