import { tupleOf } from "@centella/core/backend";
import { asValue, timesPlus } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { gates, gatingLanes, softmax } from "../shared/gating.ts";
import { groupSum } from "../shared/groups.ts";

/** Lower bound of the divisor of weights. */
const leastSum = 2 ** -14;

/** A group of lanes per token. */
export const moeWeights: GpuKernelOf<"moeWeights"> = {
  steps: (call, { gating, normalize, scale }) => {
    const [tokens, experts] = tupleOf(call.inputs[0].shape, 2);
    const [, chosen] = tupleOf(call.output.shape, 2);
    return [
      {
        kind: "groups",
        name: `${gating}${normalize ? "_normalized" : ""}`,
        args: { logits: input(call, 0), ids: input(call, 1), y: output(call) },
        shape: [tokens],
        lanes: gatingLanes,
        body: (scope, t) => {
          const { k } = scope;
          const [count, kept] = [scope.extent(experts), scope.extent(chosen)];
          const logitOf = (i: typeof t) => {
            const id = k.bitcast("u32", k.loadInteger("ids", asValue(k, timesPlus(k, t, kept, i))));
            // Indices beyond the experts may read any value inside the tensor.
            return k.load("logits", asValue(k, timesPlus(k, t, count, k.min(id, k.sub(asValue(k, count), 1)))));
          };
          const gate = gating === "softmaxOfChosen" ? softmax(k, kept, logitOf) : gates(k, gating, t, count);
          const sum = k.variable("f32", 0);
          k.for(k.lane(), kept, gatingLanes, (i) => sum.set(k.add(sum.get(), gate(logitOf(i)))));
          const factor = normalize
            ? k.div(scope.number("scale", scale), k.max(groupSum(k)(sum.get()), leastSum))
            : scope.number("scale", scale);
          k.for(k.lane(), kept, gatingLanes, (i) => k.store("y", asValue(k, timesPlus(k, t, kept, i)), k.mul(gate(logitOf(i)), factor)));
        },
      },
    ];
  },
};
