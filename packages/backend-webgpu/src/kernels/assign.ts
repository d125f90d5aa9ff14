import type { KernelDefinition } from "../kernel.ts";
import { elementOf, input, output } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count } from "./shared/shape.ts";

export const assign: KernelDefinition = {
  build({ output: y }) {
    const element = elementOf(y.dtype);
    return [
      perElement({
        bindings: [input("value", 1, element), output("y", element)],
        uniforms: {},
        body: "y[i] = value[i];",
        count: (dims) => count(y.shape, dims),
        values: () => ({}),
      }),
    ];
  },
};
