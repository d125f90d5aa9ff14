import { asValue, product, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, type GpuStep, input, output } from "../kernel.ts";
import { dimAt } from "../shared/rows.ts";

export const assign: GpuKernelOf<"assign"> = {
  steps: (call) => {
    const [target, value, indices] = call.inputs;
    const args = { value: input(call, 1), y: output(call) };
    const whole: GpuStep = {
      kind: "map",
      name: target.dtype,
      args,
      shape: target.shape,
      to: "y",
      body: ({ k }, index) => k.loadBits("value", index),
    };
    if (indices === undefined) return [whole];
    return [
      {
        kind: "each",
        name: `${target.dtype}_rows`,
        args: { ...args, indices: input(call, 2) },
        shape: value.shape,
        body: (scope, at) => {
          const { k } = scope;
          const width = product(k, scope.extents(target.shape.slice(1)));
          const [row, within] = unflatten(k, at, [1, width]);
          // As unsigned, a negative index is beyond the rows, too.
          const index = k.bitcast("u32", k.loadInteger("indices", asValue(k, row)));
          k.if(k.compare("lt", index, scope.extent(dimAt(target, 0))), () =>
            k.store("y", asValue(k, timesPlus(k, index, width, within)), k.loadBits("value", at)),
          );
        },
      },
    ];
  },
};
