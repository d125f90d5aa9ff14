import { mapTuple, tupleOf } from "@centella/core/backend";
import { asValue, plus, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { followsOn, tokenBefore, tokensBefore } from "../shared/recurrent.ts";

/** A lane per token and channel. Lanes of a sequence's last token write, oldest place first, since each place reads from later ones. */
export const ssmConvWrite: GpuKernelOf<"ssmConvWrite"> = {
  steps: (call) => {
    const [state, x] = call.inputs;
    return [
      {
        kind: "each",
        name: "",
        args: { state: output(call), x: input(call, 1), positions: input(call, 2), rows: input(call, 3) },
        shape: x.shape,
        body: (scope, index) => {
          const { k } = scope;
          const [states, kept, channels] = scope.extents(tupleOf(state.shape, 3));
          const [t, c] = mapTuple(unflatten(k, index, [1, channels]), (place) => asValue(k, place));
          const row = k.bitcast("u32", k.loadInteger("rows", t));
          const next = k.add(t, 1);
          const isEnd = k.variable("u32", 1);
          k.if(k.compare("lt", next, scope.extent(dimAt(x, 0))), () => k.if(followsOn(k, next), () => isEnd.set(0)));
          k.if(k.both(k.compare("lt", row, states), k.compare("eq", isEnd.get(), 1)), () => {
            const inCall = tokensBefore(k, t, kept);
            k.for(0, kept, 1, (i) => {
              const distance = k.sub(k.sub(asValue(k, kept), 1), i);
              const value = tokenBefore(k, { t, row, inCall, distance, c }, { channels, kept });
              k.store("state", asValue(k, plus(k, timesPlus(k, timesPlus(k, row, kept, i), channels, c), 0)), value);
            });
          });
        },
      },
    ];
  },
};
