import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Activations, createProgram, type DType, type TypedArray } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { generatePtx } from "../../src/generatePtx.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

type Capability = readonly [major: number, minor: number];

interface Form {
  readonly depth: number;
  readonly columns: readonly number[];
  readonly dtype: DType;
  readonly activations: Activations;
}

/** Products of the norm of a sum. If the norm is a result of the program, it is computed apart. */
async function results(
  form: Form,
  rows: number,
  isApart: boolean,
  capability: Capability,
): Promise<{ readonly steps: number; readonly data: readonly TypedArray[] }> {
  const { depth, columns, dtype, activations } = form;
  const program = createProgram();
  const T = program.dim("T", 64);
  const [x, y] = ["x", "y"].map((name) => program.input(name, "f32", [T, depth]));
  const sum = program.add(x!, y!);
  const norm = program.rmsNorm(sum, program.input("w", "f32", [depth]), { eps: 1e-5 });
  columns.forEach((n, i) => {
    const spec = { dtype, shape: [n, depth] };
    program.output(`y${i}`, program.matmul(norm, program.persistent(`w${i}`, spec), { transposeB: true, activations }));
  });
  program.output("sum", program.softmax(sum));
  if (isApart) program.output("norm", norm);
  const backend = new CudaBackend(new InterpretedDriver(capability));
  const steps = Number.parseInt(program.explain(backend), 10);
  const plan = await backend.compile(program);
  for (const [i, n] of columns.entries()) await plan.load(`w${i}`, sourceOf(contentsOf({ dtype, shape: [n, depth] }, i).stored));
  const inputs = { x: uniform(rows, rows * depth), y: uniform(rows + 1, rows * depth), w: uniform(3, depth) };
  const outputs = plan.run(inputs);
  const data = await Promise.all([...columns.map((_, i) => `y${i}`), "sum"].map((name) => outputs[name]!.data()));
  await backend.dispose();
  return { steps, data };
}

const unitsOfQ4K: Form = { depth: 512, columns: [33, 16], dtype: "q4_K", activations: "half" };

const cases: readonly (readonly [string, Form, readonly number[], Capability?])[] = [
  ["f16 weights in units", { depth: 256, columns: [33, 16], dtype: "f16", activations: "half" }, [1, 3, 8]],
  ["q4_K weights in units", unitsOfQ4K, [1, 2, 4]],
  ["q4_K weights in units, without bulk copies", unitsOfQ4K, [1, 2, 4, 8], [8, 6]],
  ["q8_0 weights in units, a long row", { depth: 4096, columns: [20], dtype: "q8_0", activations: "half" }, [1, 2]],
  [
    "q8_0 weights in units, a row that lanes do not share evenly",
    { depth: 1536, columns: [20], dtype: "q8_0", activations: "half" },
    [1, 2],
  ],
  ["many rows", { depth: 512, columns: [33, 16], dtype: "q8_0", activations: "half" }, [35]],
  ["f16 weights", { depth: 256, columns: [33, 5], dtype: "f16", activations: "f32" }, [1, 3, 8]],
  ["q8_0 weights, activations rounded to q8_0", { depth: 96, columns: [9, 7], dtype: "q8_0", activations: "ggml" }, [1, 2]],
  ["q4_K weights, activations rounded to q8_K", { depth: 512, columns: [9, 7, 4], dtype: "q4_K", activations: "ggml" }, [1, 4]],
  ["bf16 weights, activations rounded to bf16", { depth: 64, columns: [9, 7], dtype: "bf16", activations: "ggml" }, [2]],
  ["columns that warps take in turn", { depth: 32, columns: [8190, 5], dtype: "q8_0", activations: "f32" }, [1]],
  ["more rows than a block norms", { depth: 4096, columns: [3, 2], dtype: "f16", activations: "f32" }, [2, 3]],
];

test.each(cases.map(([name, form, counts, capability = [9, 0]]) => ({ name, form, counts, capability })))(
  "a norm in the launch of its products has the bits of one apart: $name",
  async ({ form, counts, capability }) => {
    for (const rows of counts) {
      const [together, apart] = [await results(form, rows, false, capability), await results(form, rows, true, capability)];
      expect([together.steps, apart.steps]).toEqual([2, 3]);
      expect(together.data).toEqual(apart.data);
    }
  },
);

/** The text of a product of a norm, up to its wait for earlier launches. */
function textBeforeWait(isGiven: boolean): string {
  const program = createProgram();
  const x = program.input("x", "f32", [1, 512]);
  const w = program.input("w", "f32", [512]);
  const weights = program.persistent("b", { dtype: "q4_K", shape: [32, 512] });
  const norm = program.rmsNorm(x, isGiven ? w : program.add(w, program.input("bias", "f32", [512])), { eps: 1e-5 });
  program.output("y", program.matmul(norm, weights, { transposeB: true, activations: "half" }));
  const { ptx } = generatePtx(program).find(({ entry }) => entry.endsWith("_normed"))!;
  return ptx.split("griddepcontrol.wait")[0]!;
}

test("weights of a norm are read before the wait for earlier launches, unless one of those computes them", () => {
  expect(textBeforeWait(true)).toContain("ld.global.v4.f32");
  expect(textBeforeWait(false)).not.toContain("ld.global.v4.f32");
});
