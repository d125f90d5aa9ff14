import { tupleOf } from "@centella/core/backend";
import { asValue, divide, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";

/** A lane per element of a state, which walks the tokens and writes at the last one of each sequence. */
export const ssmScanWrite: GpuKernelOf<"ssmScanWrite"> = {
  steps: (call) => {
    const [state, , , a, b, positions] = call.inputs;
    const args = {
      ...{ state: output(call), x: input(call, 1), dt: input(call, 2), a: input(call, 3), b: input(call, 4) },
      ...{ positions: input(call, 5), rows: input(call, 6) },
    };
    return [
      {
        kind: "each",
        name: a.shape[1] === 1 ? "1" : "n",
        args,
        shape: state.shape.slice(1),
        body: (scope, index) => {
          const { k } = scope;
          const [states, heads, channels, n] = scope.extents(tupleOf(state.shape, 4));
          const [h, p, place] = unflatten(k, index, [1, channels, n]);
          const groups = b.shape[1] as number;
          const [shared] = divide(k, h, scope.whole((state.shape[1] as number) / groups));
          const strides = stridesOf(k, [0, heads, channels, n]);
          const tokens = scope.extent(dimAt(positions, 0));
          const value = k.variable("f32", 0);
          const last = k.variable("i32", -1);
          const decay = k.load("a", asValue(k, offset(k, [h, a.shape[1] === 1 ? 0 : place], [scope.extent(dimAt(a, 1)), 1])));
          k.for(0, tokens, 1, (t) => {
            const row = k.loadInteger("rows", t);
            const rowOf = k.bitcast("u32", row);
            const isInside = k.compare("lt", rowOf, states);
            k.if(isInside, () => {
              const at = asValue(k, offset(k, [rowOf, h, p, place], strides));
              k.if(k.compare("ne", row, last.get()), () => value.set(k.load("state", at)));
              k.if(k.compare("eq", k.loadInteger("positions", t), 0), () => value.set(0));
              const step = k.load("dt", asValue(k, offset(k, [t, h], [heads, 1])));
              const increase = k.mul(step, k.load("x", asValue(k, offset(k, [t, h, p], stridesOf(k, [0, heads, channels])))));
              const from = asValue(k, offset(k, [t, shared, place], stridesOf(k, [0, scope.whole(groups), n])));
              value.set(k.fma(k.exp(k.mul(step, decay)), value.get(), k.mul(increase, k.load("b", from))));
              const next = k.add(t, 1);
              const isEnd = k.variable("u32", 1);
              k.if(k.compare("lt", next, tokens), () => k.if(k.compare("eq", k.loadInteger("rows", next), row), () => isEnd.set(0)));
              k.if(k.compare("eq", isEnd.get(), 1), () => k.store("state", at, value.get()));
            });
            last.set(row);
          });
        },
      },
    ];
  },
};
