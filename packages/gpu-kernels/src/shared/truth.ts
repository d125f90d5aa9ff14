import type { ParamsOf, TensorSpec } from "@centella/core";
import type { U32, Values } from "../emitter.ts";
import { type GpuKernel, type GpuScope, type GpuScratch, type GpuStep, input, output } from "../kernel.ts";
import { reduceRows } from "../rows/reduceRows.ts";
import { forEachBetween, forEachIn, perRow, rowsOf } from "../rows/rows.ts";
import { foldSummary, summarize } from "../rows/summary.ts";

/** 1 where an element is wanted. */
const found = foldSummary("u32", 0, (k, a, b) => k.or(a, b));

/** Whether all elements of a row are true, or any. Groups look for what decides it; a last step packs the results, since a bool is a byte. */
export function truth(which: "all" | "any"): GpuKernel<ParamsOf<"sum">, readonly [TensorSpec]> {
  // False elements for "all", true elements for "any".
  const wanted = which === "all" ? "eq" : "ne";
  const element = ({ k }: GpuScope, at: U32): Values<typeof found.types> => [
    k.select(k.compare(wanted, k.loadBits("x", at), 0), k.constant("u32", 1), 0),
  ];
  return {
    steps: (call, { axis }) => {
      const rows = rowsOf(call.inputs[0], axis);
      const shape = [...rows.outer, ...rows.inner];
      const results: GpuScratch = { kind: "scratch", dtype: "u32", elements: shape };
      const single = (): readonly GpuStep[] => [
        perRow("rows", { rows, args: { x: input(call, 0), y: results } }, (scope, row) => {
          const { k } = scope;
          const [any] = summarize(k, found, (take) => forEachIn(scope, row, (at) => take(element(scope, at))));
          k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row.row, any));
        }),
      ];
      const steps = reduceRows(call, rows, {
        summary: found,
        ofShare: (scope, { row, start, end }) =>
          summarize(scope.k, found, (take) => forEachBetween(scope, row, start, end, (at) => take(element(scope, at)))),
        ofColumns: (scope, lane) => lane.summarize(found, (take) => lane.forRows((at, column) => take(column, element(scope, at)))),
        to: results,
        store: ({ k }, row, [any]) => k.store("y", row, any),
      });
      return [
        ...(steps ?? single()),
        {
          kind: "map",
          name: "pack",
          args: { found: results, y: output(call) },
          shape,
          to: "y",
          body: ({ k }, index) => (which === "all" ? k.xor(k.loadBits("found", index), 1) : k.loadBits("found", index)),
        },
      ];
    },
  };
}
