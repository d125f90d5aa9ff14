import type { VarianceParams } from "@centella/core";
import { asValue } from "../extent.ts";
import { type GpuKernel, input, output } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { floatOf } from "../shared/reduction.ts";
import { forEachOf, perRow } from "../shared/rows.ts";

/** Two passes, the second over differences to the mean. */
export const variance: GpuKernel<VarianceParams> = {
  steps: (call, { axis, correction }) => [
    perRow("", { x: call.inputs[0]!, axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
      const { k } = scope;
      const add = groupSum(k);
      const sum = k.variable("f32", 0);
      forEachOf(scope, length, (i) => sum.set(k.add(sum.get(), k.load("x", at(i)))));
      const mean = k.div(add(sum.get()), floatOf(k, length));
      const squares = k.variable("f32", 0);
      forEachOf(scope, length, (i) => {
        const difference = k.sub(k.load("x", at(i)), mean);
        squares.set(k.fma(difference, difference, squares.get()));
      });
      const total = add(squares.get());
      const freedom = k.sub(floatOf(k, length), correction);
      const isEnough = k.compare("gt", asValue(k, length), correction);
      const y = k.select(isEnough, k.div(total, freedom), Number.NaN);
      k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, y));
    }),
  ],
};
