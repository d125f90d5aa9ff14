import { asValue, product, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { normalAxis } from "../shared/strided.ts";

/** An index outside the axis gives 0. */
export const takeAlongAxis: GpuKernelOf<"takeAlongAxis"> = {
  steps: (call, { axis: given }) => {
    const { dtype, shape } = call.inputs[0];
    const axis = normalAxis(given, shape.length);
    return [
      {
        kind: "map",
        name: dtype,
        args: { x: input(call, 0), indices: input(call, 1), y: output(call) },
        shape: call.output.shape,
        to: "y",
        body: (scope, at) => {
          const { k } = scope;
          const n = scope.extent(dimAt(call.inputs[0], axis));
          const inner = product(k, scope.extents(shape.slice(axis + 1)));
          const [outer, , within] = unflatten(k, at, [1, scope.extent(dimAt(call.output, axis)), inner]);
          const index = k.bitcast("u32", k.loadInteger("indices", at));
          const bits = k.variable("u32", 0);
          k.if(k.compare("lt", index, n), () =>
            bits.set(k.loadBits("x", asValue(k, timesPlus(k, timesPlus(k, outer, n, index), inner, within)))),
          );
          return bits.get();
        },
      },
    ];
  },
};
