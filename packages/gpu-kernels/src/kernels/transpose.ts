import { elementAt } from "@centella/core/backend";
import { offset, stridesOf } from "../extent.ts";
import type { GpuKernelOf } from "../kernel.ts";
import { copyFrom, normalAxis } from "../shared/strided.ts";

export const transpose: GpuKernelOf<"transpose"> = {
  steps: (call, { axes }) => {
    const { shape } = call.inputs[0];
    const order = axes?.map((axis) => normalAxis(axis, shape.length)) ?? shape.map((_, axis) => axis).reverse();
    return [
      copyFrom(call, (scope, indices) => {
        const strides = stridesOf(scope.k, scope.extents(shape));
        return offset(
          scope.k,
          indices,
          order.map((axis) => elementAt(strides, axis)),
        );
      }),
    ];
  },
};
