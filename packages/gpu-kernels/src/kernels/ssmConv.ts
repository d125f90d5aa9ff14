import { mapTuple, tupleOf } from "@centella/core/backend";
import { asValue, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { tokenBefore, tokensBefore } from "../shared/recurrent.ts";

/** A lane per token and channel. A row outside the state gives 0. */
export const ssmConv: GpuKernelOf<"ssmConv"> = {
  steps: (call) => {
    const [x, filter, state] = call.inputs;
    return [
      {
        kind: "map",
        name: "",
        args: {
          x: input(call, 0),
          weights: input(call, 1),
          state: input(call, 2),
          positions: input(call, 3),
          rows: input(call, 4),
          y: output(call),
        },
        shape: x.shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const [channels, taps] = scope.extents(tupleOf(filter.shape, 2));
          const [states, kept] = scope.extents(tupleOf(state.shape, 3));
          const [t, c] = mapTuple(unflatten(k, index, [1, channels]), (place) => asValue(k, place));
          const row = k.bitcast("u32", k.loadInteger("rows", t));
          const sum = k.variable("f32", 0);
          k.if(k.compare("lt", row, states), () => {
            const inCall = tokensBefore(k, t, kept);
            k.for(0, taps, 1, (j) => {
              const distance = k.sub(k.sub(asValue(k, taps), 1), j);
              const value = tokenBefore(k, { t, row, inCall, distance, c }, { channels, kept });
              sum.set(k.fma(k.load("weights", asValue(k, timesPlus(k, c, taps, j))), value, sum.get()));
            });
          });
          return k.bitcast("u32", sum.get());
        },
      },
    ];
  },
};
