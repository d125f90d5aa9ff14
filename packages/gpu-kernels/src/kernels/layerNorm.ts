import type { Emitter, F32, U32 } from "../emitter.ts";
import {
  againArgs,
  firstArgs,
  firstInput,
  fusedName,
  type GpuKernelOf,
  type GpuStep,
  input,
  keptArgs,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { moments, momentsOf } from "../shared/moments.ts";
import { floatOf } from "../shared/reduction.ts";
import { dimAt, forEachBetween, perRow, visitLanes, visitsOf } from "../shared/rows.ts";
import { forShares, longVisitedRow, partsOf, type SharedRows, sharedRows, storePart, summaryOf } from "../shared/shares.ts";

/** A group of lanes per row: two passes compute mean and variance, a third writes. */
export const layerNorm: GpuKernelOf<"layerNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
    const shared = sharedRows(call, -1, longVisitedRow);
    if (shared !== undefined) return sharedSteps(call, eps, shared);
    const hasBias = call.inputs[2] !== undefined;
    const args = { ...firstArgs(call), w: input(call, 1), ...(hasBias && { bias: input(call, 2) }), ...resultArgs(call) };
    const name = fusedName(hasBias ? "bias" : "", call.prologue, call.epilogue);
    const [x] = call.inputs;
    const step = perRow(name, { x, axis: -1, args }, (scope, row) => {
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
      visit((value, at, i) => storeResult(scope, call, at, normedElement(k, k.mul(k.sub(value, mean), factor), i, hasBias)));
    });
    return [{ ...step, ...visitLanes(dimAt(x, -1)) }];
  },
};

/** An element of the result, from the element of mean 0 and deviation 1. */
function normedElement(k: Emitter, value: F32, i: U32, hasBias: boolean): F32 {
  const scaled = k.mul(value, k.load("w", i));
  return hasBias ? k.add(scaled, k.load("bias", i)) : scaled;
}

/** Groups compute the moments of their shares of a row; then each combines those of all shares and norms its own. */
function sharedSteps(call: Parameters<typeof layerNorm.steps>[0], eps: number, shared: SharedRows): readonly GpuStep[] {
  const hasBias = call.inputs[2] !== undefined;
  const parts = partsOf(shared, moments);
  const sums = { name: fusedName("share", call.prologue), args: { ...firstArgs(call), ...keptArgs(call), parts } };
  const vectors = { w: input(call, 1), ...(hasBias && { bias: input(call, 2) }) };
  const results = {
    name: fusedName(hasBias ? "result_bias" : "result", call.epilogue),
    args: { ...againArgs(call), ...vectors, parts, ...resultArgs(call) },
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
      forEachBetween(scope, row, start, end, (at, i) => {
        storeResult(scope, call, at, normedElement(k, k.mul(k.sub(again(at), mean), factor), i, hasBias));
      });
    }),
  ];
}
