import { asValue, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernel, input, output } from "../kernel.ts";
import { tokenBefore, tokensBefore } from "../shared/recurrent.ts";

/** A lane per token and channel. A row outside of the state gives 0. */
export const ssmConv: GpuKernel = {
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
        shape: x!.shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const [channels, taps] = scope.extents(filter!.shape);
          const [states, kept] = scope.extents(state!.shape);
          const [t, c] = unflatten(k, index, [1, channels!]).map((place) => asValue(k, place));
          const row = k.bitcast("u32", k.loadInteger("rows", t!));
          const sum = k.variable("f32", 0);
          k.if(k.compare("lt", row, states!), () => {
            const inCall = tokensBefore(k, t!, kept!);
            k.for(0, taps!, 1, (j) => {
              const distance = k.sub(k.sub(asValue(k, taps!), 1), j);
              const value = tokenBefore(k, { t: t!, row, inCall, distance, c: c! }, { channels: channels!, kept: kept! });
              sum.set(k.fma(k.load("weights", asValue(k, timesPlus(k, c!, taps!, j))), value, sum.get()));
            });
          });
          return k.bitcast("u32", sum.get());
        },
      },
    ];
  },
};
