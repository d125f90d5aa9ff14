import type { LayerNormParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { defineKernel, input, output, rowLanes, workgroupReduce } from "../wgsl.ts";
import { loading } from "./shared/reduce.ts";
import { count, extent } from "./shared/shape.ts";

/** A workgroup per row: two passes for its mean and variance, a third writes. */
export const layerNorm: KernelDefinition<LayerNormParams> = {
  finishes: true,
  reads: "again",
  build({ inputs: [x, , bias], params: { eps }, finish, prologue }) {
    const functions = workgroupReduce("addUp", "f32", rowLanes, "a + b");
    const each = (statement: string): string => `for (var i = lane; i < p.n; i += ${rowLanes}u) { ${statement} }`;
    return [
      defineKernel({
        bindings: [
          ...(prologue?.bindings ?? [input("x", 0)]),
          input("w", 1),
          ...(bias === undefined ? [] : [input("bias", 2)]),
          output("y"),
        ],
        uniforms: { n: "u32", eps: "f32", ...prologue?.uniforms },
        lanes: rowLanes,
        finish,
        declarations: [functions, ...loading(functions, prologue, "again")].join("\n"),
        body: `
          let at = group * p.n;
          var sum = 0.0;
          ${each("sum += load(at + i);")}
          let mean = addUp(lane, sum) / f32(p.n);
          var squares = 0.0;
          ${each("let difference = again(at + i) - mean; squares = fma(difference, difference, squares);")}
          let factor = 1.0 / sqrt(addUp(lane, squares) / f32(p.n) + p.eps);
          ${each(`store(at + i, (again(at + i) - mean) * factor * w[i]${bias === undefined ? "" : " + bias[i]"});`)}
        `,
        dispatch(dims) {
          const n = extent(x!.shape, -1, dims);
          return { groups: n === 0 ? 0 : count(x!.shape, dims) / n, values: { n, eps, ...prologue?.values(dims) } };
        },
      }),
    ];
  },
};
