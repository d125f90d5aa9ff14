import type { PtxBuilder } from "../../ptx/builder.ts";
import { exp } from "../../ptx/math.ts";
import { blockReducer } from "../../ptx/reduce.ts";
import type { F32 } from "../../ptx/types.ts";
import { input, type Kernel, output } from "./kernel.ts";
import { foldRow, forEachOf, normalAxis, perRow } from "./rows.ts";

/** Kernel of a softmax-like op: `finish` sees `x - max` and the sum of `exp(x - max)` over the row. */
export function softmaxRows(name: string, finish: (k: PtxBuilder, shifted: F32, sum: F32) => F32): Kernel<{ readonly axis: number }> {
  return {
    launches: (call, { axis }) => {
      const x = call.inputs[0]!;
      const options = { x, axis: normalAxis(axis, x.shape.length), args: { x: input(0), y: output } };
      return [
        perRow(call, name, options, (scope, { length, at }) => {
          const { k, pointer } = scope;
          const [from, to] = [pointer("x", "f32"), pointer("y", "f32")];
          const reduce = blockReducer(k);
          const larger = (a: F32, b: F32): F32 => k.max(a, b);
          const add = (a: F32, b: F32): F32 => k.add(a, b);
          const load = (i: Parameters<typeof at>[0]): F32 => k.load("f32", k.at("f32", from, at(i)));
          const max = reduce(foldRow(scope, length, Number.NEGATIVE_INFINITY, load, larger), larger);
          const sum = reduce(
            foldRow(scope, length, 0, (i) => exp(k, k.sub(load(i), max)), add),
            add,
          );
          forEachOf(scope, length, (i) => k.store("f32", k.at("f32", to, at(i)), finish(k, k.sub(load(i), max), sum)));
        }),
      ];
    },
  };
}
