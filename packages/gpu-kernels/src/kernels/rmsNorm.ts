import type { Emitter, F32 } from "../emitter.ts";
import type { Extent } from "../extent.ts";
import {
  againArgs,
  firstArgs,
  firstInput,
  fusedName,
  type GpuKernelOf,
  type GpuScope,
  type GpuStep,
  input,
  keptArgs,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { floatOf } from "../rows/reduction.ts";
import { forEachBetween, perRow, type RowVisit, rowsOf, visitLanes, visitsOf } from "../rows/rows.ts";
import { forShares, longVisitedRow, partsOf, type SharedRows, sharedRows, storePart, summaryOf } from "../rows/shares.ts";
import { foldSummary } from "../rows/summary.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";

export const rmsNorm: GpuKernelOf<"rmsNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
    const rows = rowsOf(call.inputs[0], -1);
    const shared = sharedRows(rows, call.bucket, longVisitedRow);
    if (shared !== undefined) return sharedSteps(call, eps, shared);
    const args = { ...firstArgs(call), w: input(call, 1), ...resultArgs(call) };
    const step = perRow(fusedName("", call.prologue, call.epilogue), { rows, args }, (scope, row) => {
      const { k } = scope;
      const visit = visitsOf(scope, row, firstInput(scope, call, "again"));
      const factor = normFactor(scope, { visit, count: row.length, eps }, groupSum(k));
      visit((value, at, i) => storeResult(scope, call, at, normedElement(k, value, factor, k.load("w", i))));
    });
    return [{ ...step, ...visitLanes(rows.along) }];
  },
};

/** Groups add up the squares of their shares of a row; then each adds up those of all shares and norms its own. */
function sharedSteps(call: Parameters<typeof rmsNorm.steps>[0], eps: number, shared: SharedRows): readonly GpuStep[] {
  const parts = partsOf(shared, squares);
  const sums = { name: fusedName("share", call.prologue), args: { ...firstArgs(call), ...keptArgs(call), parts } };
  const results = {
    name: fusedName("result", call.epilogue),
    args: { ...againArgs(call), w: input(call, 1), parts, ...resultArgs(call) },
  };
  return [
    forShares(shared, sums, (scope, { row, start, end }, group) => {
      const { k } = scope;
      const { first } = firstInput(scope, call, "again");
      const own = k.variable("f32", 0);
      forEachBetween(scope, row, start, end, (at) => {
        const value = first(at);
        own.set(k.fma(value, value, own.get()));
      });
      storePart(scope, group, [groupSum(k)(own.get())]);
    }),
    forShares(shared, results, (scope, { row, start, end }) => {
      const { k } = scope;
      const { again } = firstInput(scope, call, "again");
      const [sum] = summaryOf(scope, shared, squares, row.row);
      const factor = factorOf(scope, sum, { count: row.length, eps });
      forEachBetween(scope, row, start, end, (at, i) => storeResult(scope, call, at, normedElement(k, again(at), factor, k.load("w", i))));
    }),
  ];
}

/** Sums of squares. */
const squares = foldSummary("f32", 0, (k, a, b) => k.add(a, b));

/** A row whose squares the lanes of a group add up. */
interface NormedRow {
  readonly visit: RowVisit;
  /** Its length, as the divisor of the mean. */
  readonly count: Extent;
  readonly eps: number;
}

/** What a row is multiplied by before its weight. `add` adds up a value per lane. */
export function normFactor(scope: GpuScope, { visit, count, eps }: NormedRow, add: (own: F32) => F32): F32 {
  const { k } = scope;
  const own = k.variable("f32", 0);
  visit((value) => own.set(k.fma(value, value, own.get())));
  return factorOf(scope, add(own.get()), { count, eps });
}

/** The same of the sum of the row's squares. */
export function factorOf(scope: GpuScope, squares: F32, { count, eps }: Pick<NormedRow, "count" | "eps">): F32 {
  const { k } = scope;
  return inverse(k, k.sqrt(k.add(k.div(squares, floatOf(k, count)), scope.number("eps", eps))));
}

/** An element of a normed row. */
export function normedElement(k: Emitter, value: F32, factor: F32, weight: F32): F32 {
  return k.mul(k.mul(value, factor), weight);
}
