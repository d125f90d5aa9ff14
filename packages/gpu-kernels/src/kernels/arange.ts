import { asValue, plus, times } from "../extent.ts";
import { type GpuKernelOf, output } from "../kernel.ts";

export const arange: GpuKernelOf<"arange"> = {
  steps: (call, { start, step, dtype }) => [
    {
      kind: "map",
      name: dtype,
      args: { y: output(call) },
      shape: call.output.shape,
      to: "y",
      body: (scope, index) => {
        const { k } = scope;
        if (dtype === "i32") return asValue(k, plus(k, times(k, index, scope.whole(step >>> 0)), scope.whole(start >>> 0)));
        return k.bitcast("u32", k.fma(k.convert("f32", index), scope.number("step", step), scope.number("start", start)));
      },
    },
  ],
};
