import { firstArgs, firstInput, fusedName, type GpuKernelOf, input, resultArgs, storeResult } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { floatOf } from "../shared/reduction.ts";
import { forEachOf, perRow, squaresOf } from "../shared/rows.ts";

export const rmsNorm: GpuKernelOf<"rmsNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
    const args = { ...firstArgs(call), w: input(call, 1), ...resultArgs(call) };
    return [
      perRow(fusedName("", call.prologue, call.epilogue), { x: call.inputs[0], axis: -1, args }, (scope, { length, at }) => {
        const { k } = scope;
        const from = firstInput(scope, call, "again");
        const squares = squaresOf(scope, length, groupSum(k), (i) => from.first(at(i)));
        const factor = inverse(k, k.sqrt(k.add(k.div(squares, floatOf(k, length)), scope.number("eps", eps))));
        forEachOf(scope, length, (i) => storeResult(scope, call, at(i), k.mul(k.mul(from.again(at(i)), factor), k.load("w", i))));
      }),
    ];
  },
};
