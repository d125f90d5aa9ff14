import type { F32, U32 } from "../emitter.ts";
import { asValue } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { floatOf } from "../shared/reduction.ts";
import { perRow, squaresOf, sumOf } from "../shared/rows.ts";

/** Two passes, the second over differences from the mean. */
export const variance: GpuKernelOf<"variance"> = {
  steps: (call, { axis, correction }) => [
    perRow("", { x: call.inputs[0], axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
      const { k } = scope;
      const add = groupSum(k);
      const load = (i: U32): F32 => k.load("x", at(i));
      const mean = k.div(sumOf(scope, length, add, load), floatOf(k, length));
      const total = squaresOf(scope, length, add, (i) => k.sub(load(i), mean));
      const freedom = k.sub(floatOf(k, length), correction);
      const isEnough = k.compare("gt", asValue(k, length), correction);
      const y = k.select(isEnough, k.div(total, freedom), Number.NaN);
      k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, y));
    }),
  ],
};
