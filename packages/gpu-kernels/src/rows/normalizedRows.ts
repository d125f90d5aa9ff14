import type { TensorSpec } from "@centella/core";
import type { F32, U32 } from "../emitter.ts";
import {
  againArgs,
  firstArgs,
  firstInput,
  fusedName,
  type GpuArguments,
  type GpuCall,
  type GpuScope,
  type GpuStep,
  keptArgs,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { moments, momentsOf } from "./moments.ts";
import { floatOf } from "./reduction.ts";
import { forEachBetween, perRow, type Row, type Rows, visitLanes, visitsOf } from "./rows.ts";
import { forShares, longVisitedRow, partsOf, type SharedRows, sharedRows, storePart, summaryOf } from "./shares.ts";

/** How rows are brought to mean 0 and variance 1. */
interface Normalization {
  readonly rows: Rows;
  /** Added to the variance. */
  readonly eps: number;
  /** Name of the step's form, and what `finish` reads. */
  readonly form: string;
  readonly args: GpuArguments;
  /** Returns the function that computes an element of the result, from that of mean 0 and variance 1 at place `i` of a row. */
  readonly finish: (scope: GpuScope, row: Row) => (value: F32, i: U32) => F32;
}

type Call = GpuCall<readonly [TensorSpec, ...(TensorSpec | undefined)[]]>;

/** Brings the rows of a call's first input to mean 0 and variance 1. A group of lanes per row: two passes compute these, a third writes. */
export function normalizedRows(call: Call, normalization: Normalization): readonly GpuStep[] {
  const { rows, eps, form, finish } = normalization;
  const shared = sharedRows(rows, call.bucket, longVisitedRow);
  if (shared !== undefined) return sharedSteps(call, shared, normalization);
  const args = { ...firstArgs(call), ...normalization.args, ...resultArgs(call) };
  const step = perRow(fusedName(form, call.prologue, call.epilogue), { rows, args }, (scope, row) => {
    const { k } = scope;
    const visit = visitsOf(scope, row, firstInput(scope, call, "again"));
    const [n, add] = [floatOf(k, row.length), groupSum(k)];
    const total = k.variable("f32", 0);
    visit((value) => total.set(k.add(total.get(), value)));
    const mean = k.div(add(total.get()), n);
    const squares = k.variable("f32", 0);
    visit((value) => {
      const distance = k.sub(value, mean);
      squares.set(k.fma(distance, distance, squares.get()));
    });
    const factor = inverse(k, k.sqrt(k.add(k.div(add(squares.get()), n), scope.number("eps", eps))));
    const finished = finish(scope, row);
    visit((value, at, i) => storeResult(scope, call, at, finished(k.mul(k.sub(value, mean), factor), i)));
  });
  return [{ ...step, ...visitLanes(rows.along) }];
}

/** Groups compute the moments of their shares of a row; then each combines those of all shares and norms its own. */
function sharedSteps(call: Call, shared: SharedRows, { eps, form, args, finish }: Normalization): readonly GpuStep[] {
  const parts = partsOf(shared, moments);
  const sums = { name: fusedName("share", call.prologue), args: { ...firstArgs(call), ...keptArgs(call), parts } };
  const results = {
    name: fusedName(form === "" ? "result" : `result_${form}`, call.epilogue),
    args: { ...againArgs(call), ...args, parts, ...resultArgs(call) },
  };
  return [
    forShares(shared, sums, (scope, share, group) => {
      storePart(scope, group, momentsOf(scope, share, firstInput(scope, call, "again").first));
    }),
    forShares(shared, results, (scope, { row, start, end }) => {
      const { k } = scope;
      const { again } = firstInput(scope, call, "again");
      const [count, mean, squares] = summaryOf(scope, shared, moments, row.row);
      const factor = inverse(k, k.sqrt(k.add(k.div(squares, count), scope.number("eps", eps))));
      const finished = finish(scope, row);
      forEachBetween(scope, row, start, end, (at, i) => {
        storeResult(scope, call, at, finished(k.mul(k.sub(again(at), mean), factor), i));
      });
    }),
  ];
}
