import { asValue, product, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";

export const batchNorm: GpuKernelOf<"batchNorm"> = {
  steps: (call, { eps }) => {
    const { shape } = call.output;
    return [
      {
        kind: "map",
        name: "",
        args: {
          x: input(call, 0),
          mean: input(call, 1),
          variance: input(call, 2),
          w: input(call, 3),
          bias: input(call, 4),
          y: output(call),
        },
        shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const [, channel] = unflatten(k, index, [1, scope.extent(dimAt(call.output, 1)), product(k, scope.extents(shape.slice(2)))]);
          const c = asValue(k, channel);
          const factor = k.div(k.load("w", c), k.sqrt(k.add(k.load("variance", c), scope.number("eps", eps))));
          return k.bitcast("u32", k.fma(k.sub(k.load("x", index), k.load("mean", c)), factor, k.load("bias", c)));
        },
      },
    ];
  },
};
