import type { F32, U32 } from "../emitter.ts";
import { asValue, divide, plus, product, times, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { inverse } from "../shared/math.ts";
import { floatOf } from "../shared/reduction.ts";
import { dimAt, forEachOf, squaresOf, sumOf } from "../shared/rows.ts";

/** A group of lanes per group of channels of an item: two passes compute mean and variance, a third writes. */
export const groupNorm: GpuKernelOf<"groupNorm"> = {
  steps: (call, { groups, eps }) => {
    const { shape } = call.output;
    const perGroup = (shape[1] as number) / groups;
    const hasBias = call.inputs[2] !== undefined;
    const args = { x: input(call, 0), w: input(call, 1), ...(hasBias && { bias: input(call, 2) }), y: output(call) };
    return [
      {
        kind: "groups",
        name: hasBias ? "bias" : "",
        args,
        shape: [dimAt(call.output, 0), groups],
        body: (scope, group) => {
          const { k } = scope;
          const points = product(k, scope.extents(shape.slice(2)));
          const length = times(k, scope.whole(perGroup), points);
          const start = times(k, group, length);
          const first = times(k, divide(k, group, scope.whole(groups))[1], scope.whole(perGroup));
          const add = groupSum(k);
          const load = (i: U32): F32 => k.load("x", asValue(k, plus(k, i, start)));
          const mean = k.div(sumOf(scope, length, add, load), floatOf(k, length));
          const squares = squaresOf(scope, length, add, (i) => k.sub(load(i), mean));
          const factor = inverse(k, k.sqrt(k.add(k.div(squares, floatOf(k, length)), scope.number("eps", eps))));
          forEachOf(scope, length, (i) => {
            const [within] = unflatten(k, i, [1, points]);
            const channel = asValue(k, plus(k, first, within));
            const scaled = k.mul(k.mul(k.sub(load(i), mean), factor), k.load("w", channel));
            k.store("y", plus(k, i, start), hasBias ? k.add(scaled, k.load("bias", channel)) : scaled);
          });
        },
      },
    ];
  },
};
