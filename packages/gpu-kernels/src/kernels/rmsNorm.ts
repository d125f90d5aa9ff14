import type { Dim } from "@centella/core";
import type { Emitter, F32, U32 } from "../emitter.ts";
import type { Extent } from "../extent.ts";
import { firstArgs, firstInput, fusedName, type GpuKernelOf, type GpuScope, input, resultArgs, storeResult } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { floatOf } from "../shared/reduction.ts";
import { dimAt, forEachIn, perRow, squaresOf } from "../shared/rows.ts";

export const rmsNorm: GpuKernelOf<"rmsNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
    const args = { ...firstArgs(call), w: input(call, 1), ...resultArgs(call) };
    const [x] = call.inputs;
    const step = perRow(fusedName("", call.prologue, call.epilogue), { x, axis: -1, args }, (scope, row) => {
      const { k } = scope;
      const { length, at } = row;
      const from = firstInput(scope, call, "again");
      const factor = normFactor(scope, { length, count: length, eps, first: (i) => from.first(at(i)) }, groupSum(k));
      // A lane reads again what it kept, in the order of the squares.
      const sameLanes = { ...row, isDense: row.isDense && call.prologue === undefined };
      forEachIn(scope, sameLanes, (flat, i) => storeResult(scope, call, flat, normedElement(k, from.again(flat), factor, k.load("w", i))));
    });
    return [{ ...step, ...normLanes(dimAt(x, -1)) }];
  },
};

/** Lanes that norm a row: many for a long one. The order in which squares are added up depends on them. */
export function normLanes(length: Dim): { readonly lanes?: number } {
  return typeof length === "number" && length >= 1024 ? { lanes: 256 } : {};
}

/** A row whose squares the lanes of a group add up. */
interface NormedRow {
  /** Its length as loops know it, and as the divisor of the mean: what texts share is no constant. */
  readonly length: Extent;
  readonly count: Extent;
  readonly eps: number;
  /** Reads or computes an element. */
  readonly first: (i: U32) => F32;
}

/** What a row is multiplied by before its weight. `add` adds up a value per lane. */
export function normFactor(scope: GpuScope, { length, count, eps, first }: NormedRow, add: (own: F32) => F32): F32 {
  return factorOf(scope, squaresOf(scope, length, add, first), { count, eps });
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
