import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { moments, momentsOf, momentsOfColumns } from "../rows/moments.ts";
import { reduceRows } from "../rows/reduceRows.ts";
import { floatOf } from "../rows/reduction.ts";
import { perRow, rowsOf, squaresOf, sumOf } from "../rows/rows.ts";
import { groupSum } from "../shared/groups.ts";

/** Two passes, the second over differences from the mean; or one over {@link moments}, see {@link reduceRows}. */
export const variance: GpuKernelOf<"variance"> = {
  steps: (call, { axis, correction }) => {
    const rows = rowsOf(call.inputs[0], axis);
    const steps = reduceRows(call, rows, {
      summary: moments,
      ofShare: (scope, share) => momentsOf(scope, share, (at) => scope.k.load("x", at)),
      ofColumns: (scope, lane) => momentsOfColumns(scope, lane, (at) => scope.k.load("x", at)),
      store: ({ k }, row, [, , squares], length) => k.store("y", row, varianceOf(k, { length, squares, correction })),
    });
    if (steps !== undefined) return steps;
    return [
      perRow("", { rows, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
        const { k } = scope;
        const add = groupSum(k);
        const load = (i: U32): F32 => k.load("x", at(i));
        const mean = k.div(sumOf(scope, length, add, load), floatOf(k, length));
        const squares = squaresOf(scope, length, add, (i) => k.sub(load(i), mean));
        const y = varianceOf(k, { length, squares, correction });
        k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, y));
      }),
    ];
  },
};

/** The sum of squared differences of a row's elements from their mean. */
interface Squares {
  readonly length: Extent;
  readonly squares: F32;
  readonly correction: number;
}

function varianceOf(k: Emitter, { length, squares, correction }: Squares): F32 {
  const freedom = k.sub(floatOf(k, length), correction);
  const isEnough = k.compare("gt", asValue(k, length), correction);
  return k.select(isEnough, k.div(squares, freedom), Number.NaN);
}
