import { type GpuKernelOf, input, output } from "../kernel.ts";

export const assign: GpuKernelOf<"assign"> = {
  steps: (call) => [
    {
      kind: "map",
      name: call.output.dtype,
      args: { value: input(call, 1), y: output(call) },
      shape: call.output.shape,
      to: "y",
      body: ({ k }, index) => k.loadBits("value", index),
    },
  ],
};
