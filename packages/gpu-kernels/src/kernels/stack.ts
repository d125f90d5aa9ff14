import type { GpuKernelOf } from "../kernel.ts";
import { join } from "../shared/join.ts";
import { normalAxis } from "../shared/strided.ts";

export const stack: GpuKernelOf<"stack"> = {
  steps: (call, { axis: given }) => {
    const { shape } = call.output;
    return join(
      call,
      shape.slice(normalAxis(given, shape.length) + 1),
      call.inputs.map(() => 1),
    );
  },
};
