import { tupleOf } from "@centella/core/backend";
import { asValue, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";

/** A lane per output element. */
export const conv1d: GpuKernelOf<"conv1d"> = {
  steps: (call, { stride, padding, dilation, groups }) => {
    const [x, w] = call.inputs;
    const [channels, length] = x.shape.slice(1) as [number, number];
    const [out, perGroup, taps] = w.shape as [number, number, number];
    return [
      {
        kind: "map",
        name: "",
        args: { x: input(call, 0), w: input(call, 1), y: output(call) },
        shape: call.output.shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const [item, filter, place] = unflatten(k, index, scope.extents(tupleOf(call.output.shape, 3)));
          const group = k.quotient(asValue(k, filter), asValue(k, scope.whole(out / groups)));
          const left = k.mul(asValue(k, place), scope.whole(stride));
          const sum = k.variable("f32", 0);
          k.for(0, scope.whole(perGroup), 1, (c) => {
            const channel = k.add(k.mul(group, scope.whole(perGroup)), c);
            const row = timesPlus(k, item, scope.whole(channels), channel);
            const weights = timesPlus(k, filter, scope.whole(perGroup), c);
            k.for(0, scope.whole(taps), 1, (j) => {
              // Negative places wrap to beyond the row: one unsigned comparison tests both borders.
              const at = k.sub(k.add(left, k.mul(j, scope.whole(dilation))), scope.whole(padding));
              k.if(k.compare("lt", at, scope.whole(length)), () => {
                const value = k.load("x", asValue(k, timesPlus(k, row, scope.whole(length), at)));
                sum.set(k.fma(value, k.load("w", asValue(k, timesPlus(k, weights, scope.whole(taps), j))), sum.get()));
              });
            });
          });
          return k.bitcast("u32", sum.get());
        },
      },
    ];
  },
};
