import { ArgumentError, type ElementParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { elementOf, input, output } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count } from "./shared/shape.ts";

export const element: KernelDefinition<ElementParams> = {
  build({ inputs: [x], params: { index }, output: y }) {
    const type = elementOf(y.dtype);
    return [
      perElement({
        bindings: [input("x", 0, type), output("y", type)],
        uniforms: { index: "u32" },
        body: "y[i] = x[p.index];",
        count: () => 1,
        values(dims) {
          const total = count(x!.shape, dims);
          if (index >= total) throw new ArgumentError("element", `an index below ${total} in this run`, String(index));
          return { index };
        },
      }),
    ];
  },
};
