import { asValue, divide, offset, stridesOf, unflatten } from "../extent.ts";
import { type GpuKernelOf, type GpuStep, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { prepareTokens, rowOfToken } from "../shared/recurrent.ts";

/** Maximum lanes per group. Lane i holds state elements i, i + lanes, … */
const mostLanes = 256;

/** Maximum state elements per lane. */
const mostKept = 16;

/** A group of lanes per head and channel, which keeps the state `[N]` while it walks the tokens. A row outside the state gives 0. */
export const ssmScan: GpuKernelOf<"ssmScan"> = {
  unsupported: (inputs) => {
    const size = inputs[3].shape[2] as number;
    return size > mostLanes * mostKept ? `no kernel for states of ${size} elements; up to ${mostLanes * mostKept}` : undefined;
  },
  steps: (call) => {
    const [x, , a, b, , state, positions] = call.inputs;
    const [, heads, channels] = x.shape as [never, number, number];
    const size = b.shape[2] as number;
    const lanes = Math.min(mostLanes, Math.max(32, 2 ** Math.ceil(Math.log2(size))));
    const perLane = Math.ceil(size / lanes);
    const { step: prepare, argument: tokens } = prepareTokens(call, { state: 5, positions: 6, rows: 7 });
    const scan: GpuStep = {
      kind: "groups",
      name: `${size}_${a.shape[1] === 1 ? "1" : "n"}`,
      args: {
        ...{ x: input(call, 0), dt: input(call, 1), a: input(call, 2), b: input(call, 3), c: input(call, 4), state: input(call, 5) },
        ...{ tokens, y: output(call) },
      },
      shape: [heads, channels],
      lanes,
      body: (scope, group) => {
        const { k } = scope;
        const [h, p] = unflatten(k, group, [1, scope.whole(channels)]);
        const [groups, n] = [scope.extent(dimAt(b, 1)), scope.extent(dimAt(b, 2))];
        const [shared] = divide(k, h, scope.whole(heads / (b.shape[1] as number)));
        const states = scope.extent(dimAt(state, 0));
        const lane = k.lane();
        const elements = Array.from({ length: perLane }, (_, i) => ({ place: k.add(lane, i * lanes), value: k.variable("f32", 0) }));
        const reduce = k.reducer(["f32"]);
        const last = k.variable("u32", 0xffffffff);
        const stateStrides = stridesOf(k, scope.extents(state.shape));
        k.forUniform(0, scope.extent(dimAt(positions, 0)), 1, (t) => {
          const { of: row, isFirst } = rowOfToken(k, t);
          const isNew = k.compare("ne", row, last.get());
          last.set(row);
          const step = k.load("dt", asValue(k, offset(k, [t, h], [scope.whole(heads), 1])));
          const at = asValue(k, offset(k, [t, h, p], stridesOf(k, scope.extents(x.shape))));
          const increase = k.mul(step, k.load("x", at));
          const sum = k.variable("f32", 0);
          elements.forEach(({ place, value }) => {
            k.if(k.compare("lt", place, n), () => {
              k.if(k.both(isNew, k.compare("lt", row, states)), () =>
                value.set(k.load("state", asValue(k, offset(k, [row, h, p, place], stateStrides)))),
              );
              k.if(k.either(isFirst, k.compare("ge", row, states)), () => value.set(0));
              const decays = scope.extent(dimAt(a, 1));
              const decay = k.load("a", asValue(k, offset(k, [h, a.shape[1] === 1 ? 0 : place], [decays, 1])));
              const from = asValue(k, offset(k, [t, shared, place], stridesOf(k, [0, groups, n])));
              value.set(k.fma(k.exp(k.mul(step, decay)), value.get(), k.mul(increase, k.load("b", from))));
              sum.set(k.fma(k.load("c", from), value.get(), sum.get()));
            });
          });
          const [total] = reduce([sum.get()], ([left], [right]) => [k.add(left, right)]);
          k.if(k.compare("eq", lane, 0), () => k.store("y", at, total));
        });
      },
    };
    return [prepare, scan];
  },
};
