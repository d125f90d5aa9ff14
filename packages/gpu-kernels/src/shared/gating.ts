import type { Gating } from "@centella/core/backend";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent, timesPlus } from "../extent.ts";
import { groupSum } from "./groups.ts";

/** Lanes that share the experts of a token. */
export const gatingLanes = 64;

/**
 * The gate of an expert as a function of its logit, for the experts of token `t` in `logits [T, E]`, whose argument has this name. All
 * lanes of a group call this together.
 */
export function gates(k: Emitter, gating: Gating, t: U32, experts: Extent): (logit: F32) => F32 {
  switch (gating) {
    case "softmaxOfChosen":
      return (logit) => logit;
    case "sigmoid":
      return (logit) => k.div(k.constant("f32", 1), k.add(k.exp(k.neg(logit)), 1));
    case "softmax":
      return softmax(k, experts, (e) => k.load("logits", asValue(k, timesPlus(k, t, experts, e))));
  }
}

/** `exp(x - max) / sum` over `count` values that lanes share. */
export function softmax(k: Emitter, count: Extent, load: (i: U32) => F32): (x: F32) => F32 {
  const most = k.variable("f32", Number.NEGATIVE_INFINITY);
  k.for(k.lane(), count, k.lanes, (i) => most.set(k.maximum(most.get(), load(i))));
  const [max] = k.reducer(["f32"])([most.get()], ([a], [b]) => [k.maximum(a, b)]);
  const sum = k.variable("f32", 0);
  k.for(k.lane(), count, k.lanes, (i) => sum.set(k.add(sum.get(), k.exp(k.sub(load(i), max)))));
  const total = groupSum(k)(sum.get());
  return (x) => k.div(k.exp(k.sub(x, max)), total);
}
