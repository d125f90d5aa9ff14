import type { PtxBuilder } from "../../ptx/builder.ts";
import { exp } from "../../ptx/math.ts";
import { blockReducer } from "../../ptx/reduce.ts";
import type { F32 } from "../../ptx/types.ts";
import type { Kernel } from "./kernel.ts";
import { foldRow, forEachOf, normalAxis, perRow } from "./rows.ts";
import { resultArgs, sourceArgs, sourceOf, storeResult, surroundedName } from "./surroundings.ts";

/** Kernel of a softmax-like op: `finish` sees `x - max` and the sum of `exp(x - max)` over the row. */
export function softmaxRows(name: string, finish: (k: PtxBuilder, shifted: F32, sum: F32) => F32): Kernel<{ readonly axis: number }> {
  return {
    finishes: true,
    reads: "again",
    launches: (call, { axis }) => {
      const x = call.inputs[0]!;
      const options = { x, axis: normalAxis(axis, x.shape.length), args: { ...sourceArgs(call), ...resultArgs(call) } };
      return [
        perRow(call, surroundedName(name, call.source, call.finish), options, (scope, { length, at }) => {
          const { k } = scope;
          const from = sourceOf(scope, call);
          const reduce = blockReducer(k);
          const larger = (a: F32, b: F32): F32 => k.max(a, b);
          const add = (a: F32, b: F32): F32 => k.add(a, b);
          const largest = foldRow(scope, length, Number.NEGATIVE_INFINITY, (i) => from.first(at(i)), larger);
          const max = reduce(largest, larger);
          const sum = reduce(
            foldRow(scope, length, 0, (i) => exp(k, k.sub(from.again(at(i)), max)), add),
            add,
          );
          forEachOf(scope, length, (i) => storeResult(scope, call, at(i), finish(k, k.sub(from.again(at(i)), max), sum)));
        }),
      ];
    },
  };
}
