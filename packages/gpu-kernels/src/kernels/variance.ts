import type { F32, U32 } from "../emitter.ts";
import { asValue, type Extent } from "../extent.ts";
import { type GpuKernelOf, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { moments, momentsOf } from "../shared/moments.ts";
import { floatOf } from "../shared/reduction.ts";
import { perRow, squaresOf, sumOf } from "../shared/rows.ts";
import { forShares, partsOf, type SharedRows, sharedRows, shareLanes, storePart, summaryOf } from "../shared/shares.ts";

/** Two passes, the second over differences from the mean. Several groups share each row if rows are long and few. */
export const variance: GpuKernelOf<"variance"> = {
  steps: (call, { axis, correction }) => {
    const [x] = call.inputs;
    const shared = sharedRows(call, axis);
    if (shared !== undefined) return sharedSteps(call, correction, shared);
    return [
      perRow("", { x, axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
        const { k } = scope;
        const add = groupSum(k);
        const load = (i: U32): F32 => k.load("x", at(i));
        const mean = k.div(sumOf(scope, length, add, load), floatOf(k, length));
        const total = squaresOf(scope, length, add, (i) => k.sub(load(i), mean));
        storeVariance(scope, { row, length, squares: total, correction });
      }),
    ];
  },
};

/** Groups compute the moments of their shares of a row, a second step combines them. */
function sharedSteps(call: Parameters<typeof variance.steps>[0], correction: number, shared: SharedRows): readonly GpuStep[] {
  const { x, axis } = shared;
  const parts = partsOf(shared, moments);
  const join = perRow("join", { x, axis, args: { parts, y: output(call) }, lanes: shareLanes }, (scope, { row, length }) => {
    const [, , squares] = summaryOf(scope, shared, moments, row);
    storeVariance(scope, { row, length, squares, correction });
  });
  return [
    forShares(shared, { name: "share", args: { x: input(call, 0), parts } }, (scope, share, group) => {
      storePart(
        scope,
        group,
        momentsOf(scope, share, (at) => scope.k.load("x", at)),
      );
    }),
    join,
  ];
}

/** A row, and the sum of the squared differences from its mean. */
interface Squares {
  readonly row: U32;
  readonly length: Extent;
  readonly squares: F32;
  readonly correction: number;
}

function storeVariance({ k }: GpuScope, { row, length, squares, correction }: Squares): void {
  const freedom = k.sub(floatOf(k, length), correction);
  const isEnough = k.compare("gt", asValue(k, length), correction);
  const y = k.select(isEnough, k.div(squares, freedom), Number.NaN);
  k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, y));
}
