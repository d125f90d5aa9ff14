import { isHalf } from "@centella/quant";
import { neighbourCount } from "../emitter.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { unitsOf } from "../shared/moving.ts";

export const dequantize: GpuKernelOf<"dequantize"> = {
  steps: (call) => {
    const [{ dtype, shape }] = call.inputs;
    const common = { name: dtype, args: { x: input(call, 0), y: output(call) }, to: "y" };
    if (isHalf(dtype))
      return [{ kind: "map", ...common, shape, isElementwise: true, body: ({ k }, index) => k.bitcast("u32", k.load("x", index)) }];
    return [
      {
        kind: "pieces",
        ...common,
        // Blocks are whole pieces of the result.
        shape: unitsOf("f32", { all: shape }).counts.all,
        // The four weights share what their block has once.
        body: ({ k }, index) => {
          const weights = k.loadVector("x", k.mul(index, neighbourCount));
          return { at: index, words: weights.map((weight) => k.bitcast("u32", weight)) };
        },
      },
    ];
  },
};
