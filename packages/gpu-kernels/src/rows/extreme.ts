import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { type GpuKernel, input, output } from "../kernel.ts";
import { larger } from "../shared/groups.ts";
import { reduceRows } from "./reduceRows.ts";
import { forEachBetween, forEachIn, perRow, rowsOf } from "./rows.ts";
import type { Summary } from "./summary.ts";

/** A key and the index that it belongs to. */
type Entry = readonly [key: U32, index: U32];

/** The largest key and the smallest index that has it. */
const entries: Summary<readonly ["u32", "u32"]> = { types: ["u32", "u32"], empty: [0, 0], combine: larger };

/** The index of the first element with the largest key; see {@link reduceRows}. No element has key 0. */
export function argExtreme(keyOf: (k: Emitter, x: F32) => U32): GpuKernel<ParamsOf<"argmax">, readonly [TensorSpec]> {
  return {
    steps: (call, { axis }) => {
      const rows = rowsOf(call.inputs[0], axis);
      const steps = reduceRows(call, rows, {
        summary: entries,
        ofShare: (scope, { row, start, end }) =>
          largestOf(scope.k, (take) => forEachBetween(scope, row, start, end, (at, i) => take(keyOf(scope.k, scope.k.load("x", at)), i))),
        ofColumns: ({ k }, lane) =>
          lane.summarize(entries, (take) =>
            lane.forChunks(
              (at) => k.load("x", at),
              (values, column, indices) => values.forEach((value, i) => void take(column, [keyOf(k, value), elementAt(indices, i)])),
            ),
          ),
        store: ({ k }, row, [, best]) => k.store("y", row, best),
      });
      if (steps !== undefined) return steps;
      return [
        perRow("", { rows, args: { x: input(call, 0), y: output(call) } }, (scope, each) => {
          const { k } = scope;
          const [, best] = largestOf(k, (take) => forEachIn(scope, each, (at, i) => take(keyOf(k, k.load("x", at)), i)));
          k.if(k.compare("eq", k.lane(), 0), () => k.store("y", each.row, best));
        }),
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
