import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { type GpuCall, type GpuKernel, type GpuStep, input, output } from "../kernel.ts";
import { larger } from "./groups.ts";
import { forEachBetween, forEachIn, perRow } from "./rows.ts";
import { forShares, partsOf, type SharedRows, type Summary, sharedRows, shareLanes, storePart, summaryOf } from "./shares.ts";

/** A key and the index that it belongs to. */
type Entry = readonly [key: U32, index: U32];

/**
 * The index of the first element with the largest key. No element has key 0. Several groups share each row if rows are long and few; a
 * second step compares their results.
 */
export function argExtreme(keyOf: (k: Emitter, x: F32) => U32): GpuKernel<ParamsOf<"argmax">, readonly [TensorSpec]> {
  return {
    steps: (call, { axis }) => {
      const [x] = call.inputs;
      const shared = sharedRows(call, axis);
      if (shared !== undefined) return sharedSteps(call, keyOf, shared);
      return [
        perRow("", { x, axis, args: { x: input(call, 0), y: output(call) } }, (scope, each) => {
          const { k } = scope;
          const [, best] = largestOf(k, (take) => forEachIn(scope, each, (at, i) => take(keyOf(k, k.load("x", at)), i)));
          k.if(k.compare("eq", k.lane(), 0), () => k.store("y", each.row, best));
        }),
      ];
    },
  };
}

/** Groups find the largest of their shares of a row, a second step that of all. */
function sharedSteps(call: GpuCall<readonly [TensorSpec]>, keyOf: (k: Emitter, x: F32) => U32, shared: SharedRows): readonly GpuStep[] {
  const { x, axis } = shared;
  const parts = partsOf(shared, entries);
  const join = perRow("join", { x, axis, args: { parts, y: output(call) }, lanes: shareLanes }, (scope, { row }) => {
    const { k } = scope;
    const [, best] = summaryOf(scope, shared, entries, row);
    k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, best));
  });
  return [
    forShares(shared, { name: "share", args: { x: input(call, 0), parts } }, (scope, { row, start, end }, group) => {
      const { k } = scope;
      const own = largestOf(k, (take) => forEachBetween(scope, row, start, end, (at, i) => take(keyOf(k, k.load("x", at)), i)));
      storePart(scope, group, own);
    }),
    join,
  ];
}

/** The largest key and the smallest index that has it. */
const entries: Summary<readonly ["u32", "u32"]> = { types: ["u32", "u32"], empty: [0, 0], combine: larger };

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
