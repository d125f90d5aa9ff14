import { offset, plus, stridesOf, times } from "../extent.ts";
import type { GpuKernelOf } from "../kernel.ts";
import { copyFrom, normalAxis } from "../shared/strided.ts";

export const slice: GpuKernelOf<"slice"> = {
  steps: (call, { axis: given, start, step }) => {
    const { shape } = call.inputs[0];
    const axis = normalAxis(given, shape.length);
    // A start from the end needs a number of elements; a symbolic axis starts at 0.
    const first = start < 0 ? start + (shape[axis] as number) : start;
    return [
      copyFrom(call, (scope, indices) => {
        const { k } = scope;
        const places = indices.map((index, i) => (i === axis ? plus(k, times(k, index, scope.whole(step)), scope.whole(first)) : index));
        return offset(k, places, stridesOf(k, scope.extents(shape)));
      }),
    ];
  },
};
