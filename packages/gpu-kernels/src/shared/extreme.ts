import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32, U32, Value } from "../emitter.ts";
import { asValue, divide, plus, times } from "../extent.ts";
import { type GpuArgument, type GpuKernel, input, output } from "../kernel.ts";
import { larger } from "./groups.ts";
import { shareLanes, shareOf, sharersFor } from "./reduction.ts";
import { forEachBetween, forEachIn, forEachOf, perRow, rowAt, rowsOf } from "./rows.ts";

/** A key and the index that it belongs to. */
type Entry = readonly [key: U32, index: U32];

/**
 * The index of the first element with the largest key. No element has key 0. Several groups share each row if rows are long and few; a
 * second step compares their results.
 */
export function argExtreme(keyOf: (k: Emitter, x: F32) => U32): GpuKernel<ParamsOf<"argmax">, readonly [TensorSpec]> {
  return {
    steps: (call, { axis: given }) => {
      const x = call.inputs[0];
      const { outer, inner, axis } = rowsOf(x, given);
      const rows = [...outer, ...inner];
      const sharers = sharersFor(x, given, call.bucket);
      if (sharers === 1) {
        return [
          perRow("", { x, axis, args: { x: input(call, 0), y: output(call) } }, (scope, each) => {
            const { k } = scope;
            const [, best] = largestOf(k, (take) => forEachIn(scope, each, (at, i) => take(keyOf(k, k.load("x", at)), i)));
            k.if(k.compare("eq", k.lane(), 0), () => k.store("y", each.row, best));
          }),
        ];
      }
      const parts: GpuArgument = { kind: "scratch", dtype: "u32", elements: [...rows, sharers, 2] };
      return [
        {
          kind: "groups",
          name: "share",
          args: { x: input(call, 0), parts },
          shape: [...rows, sharers],
          lanes: shareLanes,
          body: (scope, group) => {
            const { k } = scope;
            const [row, share] = divide(k, group, sharers);
            const each = rowAt(scope, x, axis, asValue(k, row));
            const [start, end] = shareOf(scope, each, asValue(k, share), sharers);
            const [key, best] = largestOf(k, (take) =>
              forEachBetween(scope, each, start, end, (at, i) => take(keyOf(k, k.load("x", at)), i)),
            );
            k.if(k.compare("eq", k.lane(), 0), () => {
              k.store("parts", k.mul(group, 2), key);
              k.store("parts", k.add(k.mul(group, 2), 1), best);
            });
          },
        },
        {
          ...perRow("join", { x, axis, args: { parts, y: output(call) } }, (scope, { row }) => {
            const { k } = scope;
            const start = times(k, row, 2 * sharers);
            const part = (i: U32 | number): Value<"u32"> => k.loadBits("parts", asValue(k, plus(k, start, i)));
            const [, best] = largestOf(k, (take) => forEachOf(scope, sharers, (i) => take(part(k.mul(i, 2)), part(k.add(k.mul(i, 2), 1)))));
            k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, best));
          }),
          lanes: shareLanes,
        },
      ];
    },
  };
}

/** The largest key that `each` passes on over all lanes, and the smallest index that has it. Each lane passes on indices in ascending order. */
function largestOf(k: Emitter, each: (take: (key: U32, index: U32) => void) => void): Entry {
  const [key, index] = [k.variable("u32", 0), k.variable("u32", 0)];
  each((candidate, i) => {
    k.if(k.compare("gt", candidate, key.get()), () => {
      key.set(candidate);
      index.set(i);
    });
  });
  return k.reducer(["u32", "u32"])([key.get(), index.get()], (a, b) => larger(k, a, b));
}
