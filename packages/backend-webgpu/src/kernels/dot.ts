import type { KernelDefinition } from "../kernel.ts";
import { defineKernel, input, output, workgroupReduce } from "../wgsl.ts";
import { count } from "./shared/shape.ts";

const lanes = 256;

export const dot: KernelDefinition = {
  build({ inputs: [a] }) {
    return [
      defineKernel({
        bindings: [input("a", 0), input("b", 1), output("y")],
        uniforms: { n: "u32" },
        lanes,
        declarations: workgroupReduce("addUp", "f32", lanes, "a + b"),
        body: `
          var sum = 0.0;
          for (var i = lane; i < p.n; i += ${lanes}u) { sum = fma(a[i], b[i], sum); }
          let total = addUp(lane, sum);
          if (lane == 0u) { y[0] = total; }
        `,
        dispatch: (dims) => ({ groups: 1, values: { n: count(a!.shape, dims) } }),
      }),
    ];
  },
};
