import { ArgumentError } from "@centella/core";
import { elementCount, resolveSpec } from "@centella/core/backend";
import { isBelow, product } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";

export const element: GpuKernelOf<"element"> = {
  checkRun({ inputs: [x] }, { index }, dims) {
    const count = elementCount(resolveSpec(x, dims).shape);
    if (index >= count) throw new ArgumentError("element", `an index below ${count} in this run`, String(index));
  },
  // 0 for an index outside the tensor, which is not checked in a run.
  steps: (call, { index }) => [
    {
      kind: "map",
      name: call.output.dtype,
      args: { x: input(call, 0), y: output(call) },
      shape: [],
      to: "y",
      body: (scope) => {
        const { k } = scope;
        const bits = k.variable("u32", 0);
        const at = scope.whole(index);
        k.if(isBelow(k, at, product(k, scope.extents(call.inputs[0].shape))), () => bits.set(k.loadBits("x", at)));
        return bits.get();
      },
    },
  ],
};
