import type { Dim } from "@centella/core";
import type { F32, U32 } from "../emitter.ts";
import { asValue, divide, timesPlus } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { gates, gatingLanes } from "../shared/gating.ts";
import { larger } from "../shared/groups.ts";
import { orderKey } from "../shared/math.ts";

/** Maximum number of experts, whose scores fit into the shared memory of every device. */
const mostExperts = 1024;

/** The key of -Infinity. A NaN counts as -Infinity. */
const lowestKey = 0x007fffff;

/** A group of lanes per token: stores scores as order keys in shared memory, then chooses one expert per round. */
export const moeRoute: GpuKernelOf<"moeRoute"> = {
  unsupported: (inputs) => {
    const experts = inputs[0].shape[1] as number;
    return experts > mostExperts ? `no kernel for ${experts} experts; up to ${mostExperts}` : undefined;
  },
  steps: (call, { k: kept, gating, groups, topKGroups }) => {
    const [tokens, experts] = call.inputs[0].shape as [Dim, number];
    const hasBias = call.inputs[1] !== undefined;
    return [
      {
        kind: "groups",
        name: `${gating}${hasBias ? "_bias" : ""}_${experts}${groups > 1 ? `_${groups}` : ""}`,
        args: { logits: input(call, 0), ...(hasBias && { bias: input(call, 1) }), ids: output(call) },
        shape: [tokens],
        lanes: gatingLanes,
        body: (scope, t) => {
          const { k } = scope;
          const count = scope.whole(experts);
          const gate = gates(k, gating, t, count);
          const scores = k.shared("f32", experts);
          const keys = k.shared("u32", experts);
          const keyOf = (score: F32): U32 => k.select(k.isNaN(score), k.constant("u32", lowestKey), orderKey(k, score));
          k.for(k.lane(), count, gatingLanes, (e) => {
            const logit = k.load("logits", asValue(k, timesPlus(k, t, count, e)));
            const gated = gate(logit);
            const score = hasBias ? k.add(gated, k.load("bias", e)) : gated;
            scores.set(e, score);
            // Gates grow with logits. Without a bias, logits also order experts whose gates round to the same number.
            keys.set(e, hasBias ? keyOf(score) : k.select(k.isNaN(gated), k.constant("u32", lowestKey), keyOf(logit)));
          });
          k.sync();
          const reduce = k.reducer(["u32", "u32"]);
          /** Finds the best of `n` keys and sets it to 0, so that it is not found again. */
          const takeBest = (cells: typeof keys, n: typeof count): U32 => {
            const [key, index] = [k.variable("u32", 0), k.variable("u32", 0)];
            k.for(k.lane(), n, gatingLanes, (e) => {
              const candidate = cells.get(e);
              k.if(k.compare("gt", candidate, key.get()), () => {
                key.set(candidate);
                index.set(e);
              });
            });
            const [, best] = reduce([key.get(), index.get()], (a, b) => larger(k, a, b));
            k.if(k.compare("eq", k.lane(), 0), () => cells.set(best, k.constant("u32", 0)));
            k.sync();
            return best;
          };
          if (groups > 1) {
            const size = scope.whole(experts / groups);
            const [sums, isOpen] = [k.shared("u32", groups), k.shared("u32", groups)];
            k.for(k.lane(), scope.whole(groups), gatingLanes, (g) => {
              const lowest = Number.NEGATIVE_INFINITY;
              const [first, second] = [k.variable("f32", lowest), k.variable("f32", lowest)];
              k.for(0, size, 1, (i) => {
                const score = scores.get(asValue(k, timesPlus(k, g, size, i)));
                const isFirst = k.compare("gt", score, first.get());
                second.set(k.select(isFirst, first.get(), k.select(k.compare("gt", score, second.get()), score, second.get())));
                first.set(k.select(isFirst, score, first.get()));
              });
              const sum = experts / groups === 1 ? first.get() : k.add(first.get(), second.get());
              sums.set(g, keyOf(sum));
              isOpen.set(g, k.constant("u32", 0));
            });
            k.sync();
            k.forUniform(0, scope.whole(topKGroups), 1, () => {
              const best = takeBest(sums, scope.whole(groups));
              k.if(k.compare("eq", k.lane(), 0), () => isOpen.set(best, k.constant("u32", 1)));
            });
            k.sync();
            k.for(k.lane(), count, gatingLanes, (e) => {
              const [group] = divide(k, e, size);
              k.if(k.compare("eq", isOpen.get(group), 0), () => keys.set(e, k.constant("u32", lowestKey)));
            });
            k.sync();
          }
          k.forUniform(0, scope.whole(kept), 1, (place) => {
            const best = takeBest(keys, count);
            k.if(k.compare("eq", k.lane(), 0), () => k.store("ids", asValue(k, timesPlus(k, t, scope.whole(kept), place)), best));
          });
        },
      },
    ];
  },
};
