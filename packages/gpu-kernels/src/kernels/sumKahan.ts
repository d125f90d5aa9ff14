import type { Emitter, F32, Values } from "../emitter.ts";
import { type GpuKernelOf, type GpuScope, input, output } from "../kernel.ts";
import { reduceRows } from "../rows/reduceRows.ts";
import { forEachBetween, forEachIn, perRow, rowsOf } from "../rows/rows.ts";
import { type Summary, summarize } from "../rows/summary.ts";

/** A sum and its rounding error. */
const sums: Summary<readonly ["f32", "f32"]> = {
  types: ["f32", "f32"],
  empty: [0, 0],
  /** Neumaier's step: the rounding error of the larger operand's sum is exact. */
  combine(k, [aSum, aLost], [bSum, bLost]) {
    const sum = k.add(aSum, bSum);
    const isFirst = k.compare("ge", k.abs(aSum), k.abs(bSum));
    const [large, small] = [k.select(isFirst, aSum, bSum), k.select(isFirst, bSum, aSum)];
    const error = k.add(k.sub(large, sum), small);
    return [sum, k.add(k.add(aLost, bLost), error)];
  },
};

/** See {@link reduceRows}. */
export const sumKahan: GpuKernelOf<"sumKahan"> = {
  steps(call, { axis }) {
    const rows = rowsOf(call.inputs[0], axis);
    const element = ({ k }: GpuScope, at: Parameters<Emitter["load"]>[1]): Values<typeof sums.types> => [
      k.load("x", at),
      k.constant("f32", 0),
    ];
    const steps = reduceRows(call, rows, {
      summary: sums,
      ofShare: (scope, { row, start, end }) =>
        summarize(scope.k, sums, (take) => forEachBetween(scope, row, start, end, (at) => take(element(scope, at)))),
      ofColumns: (scope, lane) => lane.summarize(sums, (take) => lane.forRows((at, column) => take(column, element(scope, at)))),
      store: ({ k }, row, all) => k.store("y", row, totalOf(k, all)),
    });
    if (steps !== undefined) return steps;
    return [
      perRow("", { rows, args: { x: input(call, 0), y: output(call) } }, (scope, row) => {
        const { k } = scope;
        const all = summarize(k, sums, (take) => forEachIn(scope, row, (at) => take(element(scope, at))));
        k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row.row, totalOf(k, all)));
      }),
    ];
  },
};

function totalOf(k: Emitter, [sum, lost]: Values<typeof sums.types>): F32 {
  // The error is NaN once the sum is infinite or NaN.
  const isBounded = k.compare("lt", k.abs(sum), Number.POSITIVE_INFINITY);
  return k.select(isBounded, k.add(sum, lost), sum);
}
