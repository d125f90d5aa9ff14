import type { GpuKernelOf } from "../kernel.ts";
import { join } from "../shared/join.ts";
import { normalAxis } from "../shared/strided.ts";

export const stack: GpuKernelOf<"stack"> = {
  steps: (call, { axis: given }) => {
    const { shape } = call.output;
    const axis = normalAxis(given, shape.length);
    return join(
      call,
      { outer: shape.slice(0, axis), inner: shape.slice(axis + 1) },
      call.inputs.map(() => 1),
    );
  },
};
