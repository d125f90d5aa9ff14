import type { ArgmaxParams } from "@centella/core";
import { type GpuKernel, input, output } from "../kernel.ts";
import { groupReducer, larger } from "../shared/groups.ts";
import { orderKey } from "../shared/math.ts";
import { forEachOf, perRow, rowLanes } from "../shared/rows.ts";

/** By order keys upside down; a NaN counts as the smallest. */
export const argmin: GpuKernel<ArgmaxParams> = {
  steps: (call, { axis }) => [
    perRow("", { x: call.inputs[0]!, axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
      const { k } = scope;
      const [key, index] = [k.variable("u32", 0), k.variable("u32", 0)];
      forEachOf(scope, length, (i) => {
        const x = k.load("x", at(i));
        const candidate = k.select(k.isNaN(x), k.constant("u32", 0xffffffff), k.xor(orderKey(k, x), 0xffffffff));
        k.if(k.compare("gt", candidate, key.get()), () => {
          key.set(candidate);
          index.set(i);
        });
      });
      const [, best] = groupReducer(k, rowLanes, ["u32", "u32"])([key.get(), index.get()], (a, b) => larger(k, a, b));
      k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, best));
    }),
  ],
};
