import type { LayerNormParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { defineKernel, input, output, rowLanes, workgroupReduce } from "../wgsl.ts";
import { count, extent } from "./shared/shape.ts";

/** A workgroup per row: two passes for its mean and variance, a third writes. */
export const layerNorm: KernelDefinition<LayerNormParams> = {
  finishes: true,
  build({ inputs: [x, , bias], params: { eps }, finish }) {
    const each = (statement: string): string => `for (var i = lane; i < p.n; i += ${rowLanes}u) { ${statement} }`;
    return [
      defineKernel({
        bindings: [input("x", 0), input("w", 1), ...(bias === undefined ? [] : [input("bias", 2)]), output("y")],
        uniforms: { n: "u32", eps: "f32" },
        lanes: rowLanes,
        finish,
        declarations: workgroupReduce("addUp", "f32", rowLanes, "a + b"),
        body: `
          let at = group * p.n;
          var sum = 0.0;
          ${each("sum += x[at + i];")}
          let mean = addUp(lane, sum) / f32(p.n);
          var squares = 0.0;
          ${each("let difference = x[at + i] - mean; squares = fma(difference, difference, squares);")}
          let factor = 1.0 / sqrt(addUp(lane, squares) / f32(p.n) + p.eps);
          ${each(`store(at + i, (x[at + i] - mean) * factor * w[i]${bias === undefined ? "" : " + bias[i]"});`)}
        `,
        dispatch(dims) {
          const n = extent(x!.shape, -1, dims);
          return { groups: n === 0 ? 0 : count(x!.shape, dims) / n, values: { n, eps } };
        },
      }),
    ];
  },
};
