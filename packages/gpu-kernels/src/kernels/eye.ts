import { tupleOf } from "@centella/core/backend";
import { asValue, unflatten } from "../extent.ts";
import { type GpuKernelOf, output } from "../kernel.ts";

export const eye: GpuKernelOf<"eye"> = {
  steps: (call) => [
    {
      kind: "map",
      name: "",
      args: { y: output(call) },
      shape: call.output.shape,
      to: "y",
      body: (scope, index) => {
        const { k } = scope;
        const [row, column] = unflatten(k, index, scope.extents(tupleOf(call.output.shape, 2)));
        return k.bitcast("u32", k.select(k.compare("eq", asValue(k, row), asValue(k, column)), k.constant("f32", 1), 0));
      },
    },
  ],
};
