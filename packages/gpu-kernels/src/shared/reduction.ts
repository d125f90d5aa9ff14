import type { ReduceParams } from "@centella/core";
import type { Emitter, F32 } from "../emitter.ts";
import { asValue, type Extent } from "../extent.ts";
import { type GpuKernel, input, output } from "../kernel.ts";
import { groupReducer } from "./groups.ts";
import { forEachOf, perRow, rowLanes } from "./rows.ts";

/** An f32 reduction over one axis or all: `combine` over `map(x)` from `initial`, which changes nothing; `finish` makes the result. */
export function reduction<P extends Pick<ReduceParams, "axis">>(definition: {
  readonly initial: number;
  readonly map?: (k: Emitter, x: F32) => F32;
  readonly combine: (k: Emitter, a: F32, b: F32) => F32;
  readonly finish?: (k: Emitter, value: F32) => F32;
}): GpuKernel<P> {
  const { initial, map = (_k, x) => x, combine, finish = (_k, value) => value } = definition;
  return {
    steps: (call, { axis }) => [
      perRow("", { x: call.inputs[0]!, axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
        const { k } = scope;
        const value = k.variable("f32", initial);
        forEachOf(scope, length, (i) => value.set(combine(k, value.get(), map(k, k.load("x", at(i))))));
        const [all] = groupReducer(k, rowLanes, ["f32"])([value.get()], ([a], [b]) => [combine(k, a, b)]);
        k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, finish(k, all)));
      }),
    ],
  };
}

/** The length of a row as a float. */
export function floatOf(k: Emitter, length: Extent): F32 {
  return k.convert("f32", asValue(k, length));
}
