import type { FullParams } from "@centella/core/backend";
import { asValue } from "../extent.ts";
import { type GpuKernel, output } from "../kernel.ts";
import { bitsOf } from "../shared/values.ts";

export const full: GpuKernel<FullParams> = {
  steps: (call, { value, dtype }) => [
    {
      kind: "map",
      name: dtype,
      args: { y: output(call) },
      shape: call.output.shape,
      to: "y",
      body: (scope) => asValue(scope.k, scope.whole(bitsOf(dtype, value))),
    },
  ],
};
