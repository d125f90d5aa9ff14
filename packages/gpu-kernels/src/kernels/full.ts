import { asValue } from "../extent.ts";
import { type GpuKernelOf, output } from "../kernel.ts";
import { bitsOf } from "../shared/values.ts";

export const full: GpuKernelOf<"full"> = {
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
