import { asValue, product, timesPlus } from "../extent.ts";
import { type GpuArgument, type GpuKernelOf, type GpuStep, input, mostElements, output } from "../kernel.ts";
import { sumOf } from "../rows/rows.ts";
import { sharersOf } from "../rows/shares.ts";
import { groupSum } from "../shared/groups.ts";

/** Lanes of a group. */
const lanes = 256;

/** Several groups share long vectors, and a second step adds up their results. */
export const dot: GpuKernelOf<"dot"> = {
  steps: (call) => {
    const { shape } = call.inputs[0];
    const sharers = sharersOf(1, mostElements(shape, call.bucket));
    const parts: GpuArgument = { kind: "scratch", dtype: "f32", elements: [sharers] };
    const terms: GpuStep = {
      kind: "groups",
      name: sharers === 1 ? "" : "share",
      args: { a: input(call, 0), b: input(call, 1), y: sharers === 1 ? output(call) : parts },
      shape: [sharers],
      lanes,
      body: (scope, group) => {
        const { k } = scope;
        const sum = k.variable("f32", 0);
        const first = asValue(k, timesPlus(k, group, lanes, k.lane()));
        k.for(first, product(k, scope.extents(shape)), lanes * sharers, (i) => sum.set(k.fma(k.load("a", i), k.load("b", i), sum.get())));
        const total = groupSum(k)(sum.get());
        k.if(k.compare("eq", k.lane(), 0), () => k.store("y", group, total));
      },
    };
    if (sharers === 1) return [terms];
    const join: GpuStep = {
      kind: "groups",
      name: "join",
      args: { parts, y: output(call) },
      shape: [],
      body: (scope) => {
        const { k } = scope;
        const total = sumOf(scope, sharers, groupSum(k), (i) => k.load("parts", i));
        k.if(k.compare("eq", k.lane(), 0), () => k.store("y", 0, total));
      },
    };
    return [terms, join];
  },
};
