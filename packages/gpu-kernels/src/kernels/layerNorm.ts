import { firstArgs, firstInput, fusedName, type GpuKernelOf, input, resultArgs, storeResult } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { floatOf } from "../shared/reduction.ts";
import { dimAt, perRow, visitLanes, visitsOf } from "../shared/rows.ts";

/** A group of lanes per row: two passes compute mean and variance, a third writes. */
export const layerNorm: GpuKernelOf<"layerNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
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
      visit((value, at, i) => {
        const scaled = k.mul(k.mul(k.sub(value, mean), factor), k.load("w", i));
        storeResult(scope, call, at, hasBias ? k.add(scaled, k.load("bias", i)) : scaled);
      });
    });
    return [{ ...step, ...visitLanes(dimAt(x, -1)) }];
  },
};
