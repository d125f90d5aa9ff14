import { elementCount } from "@centella/core";
import type { Binding, KernelDefinition } from "../kernel.ts";
import { defineKernel, input, output, workgroupReduce } from "../wgsl.ts";
import { sharersOf } from "./shared/reduce.ts";
import { count, maximum } from "./shared/shape.ts";

const lanes = 256;

/** Where vectors are long, workgroups share them, and another dispatch adds up what they found. */
export const dot: KernelDefinition = {
  build({ inputs: [a] }) {
    const sharers = sharersOf(1, elementCount(a!.shape.map(maximum)));
    const declarations = workgroupReduce("addUp", "f32", lanes, "a + b");
    const n = (dims: Parameters<typeof count>[1]) => ({ n: count(a!.shape, dims) });
    const sum = (to: string): string => `
      var sum = 0.0;
      for (var i = group * ${lanes}u + lane; i < p.n; i += ${lanes * sharers}u) { sum = fma(a[i], b[i], sum); }
      let total = addUp(lane, sum);
      if (lane == 0u) { ${to} = total; }
    `;
    const terms = {
      uniforms: { n: "u32" },
      lanes,
      declarations,
      dispatch: (dims: Parameters<typeof count>[1]) => ({ groups: sharers, values: n(dims) }),
    } as const;
    if (sharers === 1) return [defineKernel({ ...terms, bindings: [input("a", 0), input("b", 1), output("y")], body: sum("y[0]") })];
    const parts: Binding = { name: "parts", resource: { kind: "scratch", bytes: 4 * sharers }, access: "read_write", element: "f32" };
    return [
      defineKernel({ ...terms, bindings: [input("a", 0), input("b", 1), parts], body: sum("parts[group]") }),
      defineKernel({
        bindings: [{ ...parts, access: "read" }, output("y")],
        uniforms: {},
        lanes,
        declarations,
        body: `
          var sum = 0.0;
          for (var i = lane; i < ${sharers}u; i += ${lanes}u) { sum += parts[i]; }
          let total = addUp(lane, sum);
          if (lane == 0u) { y[0] = total; }
        `,
        dispatch: () => ({ groups: 1, values: {} }),
      }),
    ];
  },
};
