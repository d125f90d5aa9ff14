import { asValue, divide, plus, product, times, unflatten } from "../extent.ts";
import { type GpuKernelOf, input } from "../kernel.ts";
import { normalizedRows } from "../rows/normalizedRows.ts";
import { dimAt } from "../rows/rows.ts";
import { joined } from "../shared/moving.ts";

/** A row is a group of channels of an item. */
export const groupNorm: GpuKernelOf<"groupNorm"> = {
  steps: (call, { groups, eps }) => {
    const { shape } = call.output;
    const perGroup = (shape[1] as number) / groups;
    const points = joined(shape.slice(2));
    const hasBias = call.inputs[2] !== undefined;
    return normalizedRows(call, {
      rows: { outer: [dimAt(call.output, 0), groups], along: joined([perGroup, ...points]), inner: [] },
      eps,
      form: hasBias ? "bias" : "",
      args: { w: input(call, 1), ...(hasBias && { bias: input(call, 2) }) },
      finish(scope, { row }) {
        const { k } = scope;
        const first = times(k, divide(k, row, scope.whole(groups))[1], scope.whole(perGroup));
        const perChannel = product(k, scope.extents(points));
        return (value, i) => {
          const [within] = unflatten(k, i, [1, perChannel]);
          const channel = asValue(k, plus(k, first, within));
          const scaled = k.mul(value, k.load("w", channel));
          return hasBias ? k.add(scaled, k.load("bias", channel)) : scaled;
        };
      },
    });
  },
};
