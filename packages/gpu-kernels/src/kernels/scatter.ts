import { asValue, product, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { normalAxis } from "../shared/strided.ts";

/** A lane per element of the output searches the indices in order. So each element has one writer, and sums have a fixed order. */
export const scatter: GpuKernelOf<"scatter"> = {
  steps: (call, { axis: given, mode }) => {
    const [x, indices] = call.inputs;
    const { dtype, shape } = x;
    const axis = normalAxis(given, shape.length);
    return [
      {
        kind: "map",
        name: `${mode}_${dtype}`,
        args: { x: input(call, 0), indices: input(call, 1), updates: input(call, 2), y: output(call) },
        shape,
        to: "y",
        body: (scope, at) => {
          const { k } = scope;
          const m = scope.extent(dimAt(indices, 0));
          const inner = product(k, scope.extents(shape.slice(axis + 1)));
          const [outer, place, within] = unflatten(k, at, [1, scope.extent(dimAt(x, axis)), inner]);
          const index = k.bitcast("i32", asValue(k, place));
          const bits = k.variable("u32", k.loadBits("x", at));
          k.for(0, m, 1, (i) =>
            k.if(k.compare("eq", k.loadInteger("indices", i), index), () => {
              const update = k.loadBits("updates", asValue(k, timesPlus(k, timesPlus(k, outer, m, i), inner, within)));
              const now = bits.get();
              if (mode === "replace") bits.set(update);
              else if (dtype === "i32") bits.set(k.add(now, update));
              else bits.set(k.bitcast("u32", k.add(k.bitcast("f32", now), k.bitcast("f32", update))));
            }),
          );
          return bits.get();
        },
      },
    ];
  },
};
