import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32 } from "../emitter.ts";
import { firstArgs, firstInput, fusedName, type GpuKernel, resultArgs, storeResult } from "../kernel.ts";
import { groupSum } from "./groups.ts";
import { isSmaller } from "./math.ts";
import { forEachIn, perRow, sumIn } from "./rows.ts";

/**
 * Softmax-like op: `finish` computes a result from `x - max` and the sum of `exp(x - max)` over the row. If the largest value is not
 * finite, `x - max` is NaN, and so is the row.
 */
export function softmaxLike(finish: (k: Emitter, shifted: F32, sum: F32) => F32): GpuKernel<ParamsOf<"softmax">, readonly [TensorSpec]> {
  return {
    epilogue: true,
    prologue: "again",
    steps: (call, { axis }) => {
      const args = { ...firstArgs(call), ...resultArgs(call) };
      return [
        perRow(fusedName("", call.prologue, call.epilogue), { x: call.inputs[0], axis, args }, (scope, row) => {
          const { k } = scope;
          const from = firstInput(scope, call, "again");
          const own = k.variable("f32", Number.NEGATIVE_INFINITY);
          forEachIn(scope, row, (at) => own.set(k.maximum(own.get(), from.first(at))));
          const [largest] = k.reducer(["f32"])([own.get()], ([a], [b]) => [k.maximum(a, b)]);
          // Written out, so that no compiler has to subtract infinities.
          const max = k.select(isSmaller(k, largest, Number.POSITIVE_INFINITY), largest, Number.NaN);
          const sum = sumIn(scope, row, groupSum(k), (at) => k.exp(k.sub(from.again(at), max)));
          forEachIn(scope, row, (at) => storeResult(scope, call, at, finish(k, k.sub(from.again(at), max), sum)));
        }),
      ];
    },
  };
}
