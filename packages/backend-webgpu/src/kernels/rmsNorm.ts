import type { RmsNormParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { defineKernel, input, output, rowLanes, workgroupReduce } from "../wgsl.ts";
import { count, extent } from "./shared/shape.ts";

export const rmsNorm: KernelDefinition<RmsNormParams> = {
  finishes: true,
  build({ inputs: [x], params: { eps }, finish }) {
    return [
      defineKernel({
        bindings: [input("x", 0), input("w", 1), output("y")],
        uniforms: { n: "u32", eps: "f32" },
        lanes: rowLanes,
        finish,
        declarations: workgroupReduce("addUp", "f32", rowLanes, "a + b"),
        body: `
          let at = group * p.n;
          var squares = 0.0;
          for (var i = lane; i < p.n; i += ${rowLanes}u) { let value = x[at + i]; squares = fma(value, value, squares); }
          let factor = 1.0 / sqrt(addUp(lane, squares) / f32(p.n) + p.eps);
          for (var i = lane; i < p.n; i += ${rowLanes}u) { store(at + i, x[at + i] * factor * w[i]); }
        `,
        dispatch(dims) {
          const n = extent(x!.shape, -1, dims);
          return { groups: n === 0 ? 0 : count(x!.shape, dims) / n, values: { n, eps } };
        },
      }),
    ];
  },
};
