import { firstArgs, firstInput, fusedName, type GpuKernelOf, input, resultArgs, storeResult } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { floatOf } from "../shared/reduction.ts";
import { forEachIn, perRow, squaresIn, sumIn } from "../shared/rows.ts";

/** A group of lanes per row: two passes compute mean and variance, a third writes. */
export const layerNorm: GpuKernelOf<"layerNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
    const hasBias = call.inputs[2] !== undefined;
    const args = { ...firstArgs(call), w: input(call, 1), ...(hasBias && { bias: input(call, 2) }), ...resultArgs(call) };
    const name = fusedName(hasBias ? "bias" : "", call.prologue, call.epilogue);
    return [
      perRow(name, { x: call.inputs[0], axis: -1, args }, (scope, row) => {
        const { k } = scope;
        const from = firstInput(scope, call, "again");
        const [n, add] = [floatOf(k, row.length), groupSum(k)];
        const mean = k.div(
          sumIn(scope, row, add, (at) => from.first(at)),
          n,
        );
        const squares = squaresIn(scope, row, add, (at) => k.sub(from.again(at), mean));
        const factor = inverse(k, k.sqrt(k.add(k.div(squares, n), scope.number("eps", eps))));
        forEachIn(scope, row, (at, i) => {
          const scaled = k.mul(k.mul(k.sub(from.again(at), mean), factor), k.load("w", i));
          storeResult(scope, call, at, hasBias ? k.add(scaled, k.load("bias", i)) : scaled);
        });
      }),
    ];
  },
};
