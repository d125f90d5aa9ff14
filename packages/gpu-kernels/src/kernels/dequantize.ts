import { type GpuKernelOf, input, output } from "../kernel.ts";

export const dequantize: GpuKernelOf<"dequantize"> = {
  steps: (call) => [
    {
      kind: "map",
      name: call.inputs[0].dtype,
      args: { x: input(call, 0), y: output(call) },
      shape: call.output.shape,
      to: "y",
      body: ({ k }, index) => k.bitcast("u32", k.load("x", index)),
    },
  ],
};
