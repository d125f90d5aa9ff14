import { type GpuKernel, input, output } from "../kernel.ts";

export const assign: GpuKernel = {
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
