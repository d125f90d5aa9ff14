import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32 } from "../emitter.ts";
import { firstArgs, firstInput, fusedName, type GpuKernel, resultArgs, storeResult } from "../kernel.ts";
import { groupSum } from "./groups.ts";
import { infinityKey, ofOrderKey, orderKey } from "./math.ts";
import { dimAt, perRow, visitLanes, visitsOf } from "./rows.ts";

/** An element of a row: `x - max`, and the exponential of that. */
interface Shifted {
  readonly shifted: F32;
  readonly exponential: () => F32;
}

/**
 * Softmax-like op: `finish` computes a result from an element and the sum of `exp(x - max)` over the row. If the largest value is not
 * finite, `x - max` is NaN, and so is the row.
 */
export function softmaxLike(
  finish: (k: Emitter, element: Shifted, sum: F32) => F32,
): GpuKernel<ParamsOf<"softmax">, readonly [TensorSpec]> {
  return {
    epilogue: true,
    prologue: "again",
    steps: (call, { axis }) => {
      const args = { ...firstArgs(call), ...resultArgs(call) };
      const [x] = call.inputs;
      const step = perRow(fusedName("", call.prologue, call.epilogue), { x, axis, args }, (scope, row) => {
        const { k } = scope;
        const visit = visitsOf(scope, row, firstInput(scope, call, "again"));
        const own = k.variable("u32", 0);
        visit((value) => own.set(k.max(own.get(), orderKey(k, value))));
        const [largest] = k.reducer(["u32"])([own.get()], ([a], [b]) => [k.max(a, b)]);
        // Written out, so that no compiler has to subtract infinities.
        const max = k.select(k.compare("lt", largest, infinityKey), ofOrderKey(k, largest), Number.NaN);
        const exponentials: F32[] = [];
        const weights = k.variable("f32", 0);
        visit((value) => {
          const exponential = k.exp(k.sub(value, max));
          exponentials.push(exponential);
          weights.set(k.add(weights.get(), exponential));
        });
        const sum = groupSum(k)(weights.get());
        visit((value, at) => {
          const shifted = k.sub(value, max);
          const known = visit.isHeld ? exponentials.shift() : undefined;
          storeResult(scope, call, at, finish(k, { shifted, exponential: () => known ?? k.exp(shifted) }, sum));
        });
      });
      return [{ ...step, ...visitLanes(dimAt(x, axis)) }];
    },
  };
}
