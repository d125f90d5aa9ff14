import type { RmsNormParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { defineKernel, input, output, rowLanes, workgroupReduce } from "../wgsl.ts";
import { loading } from "./shared/reduce.ts";
import { count, extent } from "./shared/shape.ts";

export const rmsNorm: KernelDefinition<RmsNormParams> = {
  finishes: true,
  reads: "again",
  build({ inputs: [x], params: { eps }, finish, prologue }) {
    const functions = workgroupReduce("addUp", "f32", rowLanes, "a + b");
    return [
      defineKernel({
        bindings: [...(prologue?.bindings ?? [input("x", 0)]), input("w", 1), output("y")],
        uniforms: { n: "u32", eps: "f32", ...prologue?.uniforms },
        lanes: rowLanes,
        finish,
        declarations: [functions, ...loading(functions, prologue, "again")].join("\n"),
        body: `
          let at = group * p.n;
          var squares = 0.0;
          for (var i = lane; i < p.n; i += ${rowLanes}u) { let value = load(at + i); squares = fma(value, value, squares); }
          let factor = 1.0 / sqrt(addUp(lane, squares) / f32(p.n) + p.eps);
          for (var i = lane; i < p.n; i += ${rowLanes}u) { store(at + i, again(at + i) * factor * w[i]); }
        `,
        dispatch(dims) {
          const n = extent(x!.shape, -1, dims);
          return { groups: n === 0 ? 0 : count(x!.shape, dims) / n, values: { n, eps, ...prologue?.values(dims) } };
        },
      }),
    ];
  },
};
