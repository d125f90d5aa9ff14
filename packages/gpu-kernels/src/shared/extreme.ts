import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { type GpuKernel, input, output } from "../kernel.ts";
import { larger } from "./groups.ts";
import { forEachOf, perRow } from "./rows.ts";

/** The index of the first element with the largest key. No element has key 0. */
export function argExtreme(keyOf: (k: Emitter, x: F32) => U32): GpuKernel<ParamsOf<"argmax">, readonly [TensorSpec]> {
  return {
    steps: (call, { axis }) => [
      perRow("", { x: call.inputs[0], axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
        const { k } = scope;
        const [key, index] = [k.variable("u32", 0), k.variable("u32", 0)];
        forEachOf(scope, length, (i) => {
          const candidate = keyOf(k, k.load("x", at(i)));
          k.if(k.compare("gt", candidate, key.get()), () => {
            key.set(candidate);
            index.set(i);
          });
        });
        const [, best] = k.reducer(["u32", "u32"])([key.get(), index.get()], (a, b) => larger(k, a, b));
        k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, best));
      }),
    ],
  };
}
