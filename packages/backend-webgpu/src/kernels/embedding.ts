import type { KernelDefinition } from "../kernel.ts";
import { elementOf, input, loader, output } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count, extent } from "./shared/shape.ts";

export const embedding: KernelDefinition = {
  build({ inputs: [table], output: y }) {
    const { dtype, shape } = table!;
    return [
      perElement({
        bindings: [input("table", 0, elementOf(dtype)), input("ids", 1, "i32"), output("y")],
        uniforms: { rows: "u32", d: "u32" },
        declarations: loader("table", dtype),
        // A negative id is a large one when taken as unsigned.
        body: "let id = u32(ids[i / p.d]);\nvar value = 0.0;\nif (id < p.rows) { value = load_table(id * p.d + i % p.d); }\ny[i] = value;",
        count: (dims) => count(y.shape, dims),
        values: (dims) => ({ rows: extent(shape, 0, dims), d: extent(shape, 1, dims) }),
      }),
    ];
  },
};
