import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32 } from "../emitter.ts";
import { asValue, type Extent } from "../extent.ts";
import { firstArgs, firstInput, fusedName, type GpuKernel, resultArgs, storeResult } from "../kernel.ts";
import { reduceRows } from "./reduceRows.ts";
import { forEachBetween, forEachIn, perRow, rowsOf, visitLanes } from "./rows.ts";
import { foldSummary, summarize } from "./summary.ts";

/** A fold of f32 elements: `combine` over `map(x)` from `initial`, its neutral element. */
interface Fold {
  readonly initial: number;
  readonly map?: (k: Emitter, x: F32) => F32;
  readonly combine: (k: Emitter, a: F32, b: F32) => F32;
  /** Returns the result from the combined value and the number of elements. */
  readonly finish?: (k: Emitter, value: F32, length: Extent) => F32;
}

/** f32 reduction over one axis or all; see {@link reduceRows}. */
export function reduction<P extends Pick<ParamsOf<"sum">, "axis">>({
  initial,
  map = (_k, x) => x,
  combine,
  finish = (_k, value) => value,
}: Fold): GpuKernel<P, readonly [TensorSpec]> {
  const summary = foldSummary("f32", initial, combine);
  return {
    epilogue: true,
    prologue: "once",
    steps: (call, { axis }) => {
      const rows = rowsOf(call.inputs[0], axis);
      const steps = reduceRows(call, rows, {
        summary,
        ofShare(scope, { row, start, end }) {
          const { k } = scope;
          const from = firstInput(scope, call, "once");
          return summarize(k, summary, (take) => forEachBetween(scope, row, start, end, (at) => take([map(k, from.first(at))])));
        },
        ofColumns(scope, lane) {
          const from = firstInput(scope, call, "once");
          return lane.summarize(summary, (take) => lane.forRows((at, column) => take(column, [map(scope.k, from.first(at))])));
        },
        store: (scope, row, [all], length) => storeResult(scope, call, row, finish(scope.k, all, length)),
      });
      if (steps !== undefined) return steps;
      const args = { ...firstArgs(call), ...resultArgs(call) };
      const step = perRow(fusedName("", call.prologue, call.epilogue), { rows, args }, (scope, each) => {
        const { k } = scope;
        const { row, length } = each;
        const from = firstInput(scope, call, "once");
        const [all] = summarize(k, summary, (take) => forEachIn(scope, each, (at) => take([map(k, from.first(at))])));
        k.if(k.compare("eq", k.lane(), 0), () => storeResult(scope, call, row, finish(k, all, length)));
      });
      return [{ ...step, ...(axis !== null && visitLanes(rows.along)) }];
    },
  };
}

/** The length of a row as a float. */
export function floatOf(k: Emitter, length: Extent): F32 {
  return k.convert("f32", asValue(k, length));
}
