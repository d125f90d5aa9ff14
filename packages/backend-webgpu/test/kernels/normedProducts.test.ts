import { contentsOf, uniform } from "@centella/conformance";
import { type Activations, type Backend, createProgram, type DType, type TypedArray } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";

interface Form {
  readonly depth: number;
  readonly columns: readonly number[];
  readonly dtype: DType;
  readonly activations: Activations;
}

/** Products of the norm of a sum. If the norm is a result of the program, it is computed apart. */
async function results(backend: Backend, form: Form, rows: number, isApart: boolean) {
  const { depth, columns, dtype, activations } = form;
  const program = createProgram();
  const T = program.dim("T", 8);
  const [x, y] = ["x", "y"].map((name) => program.input(name, "f32", [T, depth]));
  const sum = program.add(x!, y!);
  const norm = program.rmsNorm(sum, program.input("w", "f32", [depth]), { eps: 1e-5 });
  const products = columns.map((n, i) => {
    const spec = { dtype, shape: [n, depth] };
    const weight = program.constant(contentsOf(spec, i).stored, dtype, spec.shape);
    return program.matmul(norm, weight, { transposeB: true, activations });
  });
  for (const [i, product] of products.entries()) program.output(`y${i}`, product);
  program.output("sum", program.softmax(sum));
  if (isApart) program.output("norm", norm);
  const steps = Number.parseInt(program.explain(backend), 10);
  const plan = await backend.compile(program);
  const outputs = plan.run({ x: uniform(rows, rows * depth), y: uniform(rows + 1, rows * depth), w: uniform(3, depth) });
  const data: readonly TypedArray[] = await Promise.all([...columns.map((_, i) => `y${i}`), "sum"].map((name) => outputs[name]!.data()));
  plan.dispose();
  return { steps, data };
}

function largestDifference(a: TypedArray, b: TypedArray): number {
  return Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i]!)));
}

await describeOpened("a norm in the dispatch of its products", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  test.each<readonly [string, Form]>([
    ["a short row of 128 lanes", { depth: 256, columns: [33, 5], dtype: "f16", activations: "half" }],
    ["a long row of 256 lanes", { depth: 1536, columns: [21, 5], dtype: "q4_K", activations: "f32" }],
    ["columns that a workgroup takes in turn", { depth: 32, columns: [8300, 7], dtype: "q8_0", activations: "f32" }],
    ["a depth that tiles do not take", { depth: 40, columns: [9], dtype: "f16", activations: "half" }],
    ["activations rounded to q8_0", { depth: 96, columns: [9, 7], dtype: "q8_0", activations: "ggml" }],
    ["activations rounded to q8_K", { depth: 1024, columns: [9, 7, 4], dtype: "q4_K", activations: "ggml" }],
    ["activations rounded to bf16", { depth: 64, columns: [9, 7], dtype: "bf16", activations: "ggml" }],
  ])("has the bits of one apart: %s", async (_name, form) => {
    for (const rows of [1, 3]) {
      const [together, apart] = [await results(backend, form, rows, false), await results(backend, form, rows, true)];
      expect([together.steps, apart.steps]).toEqual([2, 3]);
      // Packed products add up the squares of a norm in another order; a difference in the last bit may change a code.
      const isPacked = form.activations === "ggml" && form.dtype !== "bf16";
      if (!isPacked) expect(together.data).toEqual(apart.data);
      else for (const [i, data] of together.data.entries()) expect(largestDifference(data, apart.data[i]!)).toBeLessThan(0.02);
    }
  });
});
