import { contentsOf, uniform } from "@centella/conformance";
import { createProgram, type DType, type Plan, type Value } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import { type BlockType, ggmlTypes, isGgmlType } from "@centella/quant";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { generatePtx } from "../src/index.ts";
import { unitFormat } from "../src/weights/unitFormat.ts";
import { extremeTypes, extremeWeights } from "./extremeWeights.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";
import { expectProducts, productsOf } from "./productBounds.ts";
import { sourceOf } from "./sources.ts";

const half = { transposeB: true, activations: "half" } as const;

async function compiled(program: ReturnType<typeof createProgram>): Promise<{ readonly plan: Plan; readonly backend: CudaBackend }> {
  const backend = new CudaBackend(new InterpretedDriver(), undefined, ["mixed-input"]);
  return { backend, plan: await backend.compile(program) };
}

// 3 multiprocessors: blocks share the tiles of the larger shape, which has two tiles of rows. The smaller one has parts of tiles, of panels and of units.
const larger = { columns: 300, depth: 768, most: 512, rowCounts: [257] };
const smaller = { columns: 19, depth: 288, most: 128, rowCounts: [9, 65] };
const few = { columns: 260, depth: 1024, most: 16, rowCounts: [9, 16] };
const types = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type): type is BlockType | "f16" | "bf16" => unitFormat(type as DType) !== undefined);
const grid = types.flatMap((dtype) =>
  [larger, smaller, few].map(({ columns, depth, most, rowCounts }) => ({
    dtype,
    columns,
    depth: layoutOf(dtype).elements > 32 ? 256 * Math.ceil(depth / 512) : depth,
    most,
    rowCounts,
  })),
);
const sample: typeof grid = [
  { dtype: "f16", columns: 140, depth: 576, most: 16, rowCounts: [9] },
  { dtype: "q4_K", columns: 19, depth: 256, most: 128, rowCounts: [65] },
  { dtype: "q8_0", columns: 150, depth: 512, most: 32, rowCounts: [17] },
  { dtype: "q6_K", columns: 20, depth: 256, most: 512, rowCounts: [257] },
];
// The full grid runs them.
if (!isWholeGrid) test.skip("rows by weights of other types (not in the sample)", () => undefined);

test.each(isWholeGrid ? grid : sample)(
  "$rowCounts rows by a $dtype weight of $columns x $depth",
  { timeout: 60_000 },
  async ({ dtype, columns, depth, most, rowCounts }) => {
    const { stored, decoded, spec } = contentsOf({ dtype, shape: [columns, depth] }, 3);
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", most), depth]);
    program.output("y", program.matmul(x, program.persistent("w", spec), half));
    const { plan, backend } = await compiled(program);
    await plan.load("w", sourceOf(stored));
    for (const rows of rowCounts) {
      const values = uniform(rows, rows * depth);
      expectProducts(await plan.run({ x: values }).y!.data(), values, decoded, depth, dtype);
    }
    await backend.dispose();
  },
);

test.each(extremeTypes)("weights of %s may be as large and as small as the type holds", async (dtype) => {
  const [columns, depth, rows] = [35, 256, 33];
  const { spec, stored, decoded } = extremeWeights(dtype, [columns, depth]);
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 64), depth]);
  program.output("y", program.matmul(x, program.persistent("w", spec), half));
  const { plan, backend } = await compiled(program);
  await plan.load("w", sourceOf(stored));
  // The results of most rows are one product each: errors do not cancel.
  const values = uniform(rows, rows * depth).map((value, i) => (i < depth || i % depth === 7 * Math.floor(i / depth) ? value : 0));
  expectProducts(await plan.run({ x: values }).y!.data(), values, decoded as Float32Array, depth, dtype);
  await backend.dispose();
});

test("products of one tensor are multiplied together, with their epilogues", async () => {
  const depth = 256;
  const rows = 33;
  const weights = { q: ["q4_K", 48], k: ["q8_0", 19], v: ["q6_K", 19], gate: ["q5_K", 40], up: ["q5_K", 40] } as const;
  const contents = Object.entries(weights).map(([name, [dtype, n]]) => ({ name, ...contentsOf({ dtype, shape: [n, depth] }, n) }));
  const program = createProgram();
  const rowCount = program.dim("T", 64);
  const x = program.input("x", "f32", [rowCount, depth]);
  const [q, k, v, gate, up] = contents.map(({ name, spec }) => program.matmul(x, program.persistent(name, spec), half)) as [
    Value,
    Value,
    Value,
    Value,
    Value,
  ];
  program.output("q", q);
  program.output("k", program.add(k, program.input("bias", "f32", [19])));
  program.output("v", program.add(v, program.input("residual", "f32", [rowCount, 19])));
  program.output("h", program.mul(program.silu(gate), up));
  // By default other kernels compute them.
  expect(generatePtx(program).some(({ entry }) => entry.startsWith("matmulMixed"))).toBe(false);
  const { plan, backend } = await compiled(program);
  for (const { name, stored } of contents) await plan.load(name, sourceOf(stored));
  const values = uniform(rows, rows * depth);
  const [bias, residual] = [uniform(5, 19), uniform(6, rows * 19)];
  const outputs = plan.run({ x: values, bias, residual });
  const of = async (name: string): Promise<Float32Array> => (await outputs[name]!.data()) as Float32Array;
  const [h, added] = [await of("h"), { k: await of("k"), v: await of("v") }];
  const plain = { q: await of("q"), k: added.k.map((y, i) => y - bias[i % 19]!), v: added.v.map((y, i) => y - residual[i]!) };
  for (const { name, decoded, spec } of contents.slice(0, 3))
    expectProducts(plain[name as keyof typeof plain], values, decoded as Float32Array, depth, spec.dtype, 1e-5);
  const [g, u] = contents.slice(3).map(({ decoded }) => productsOf(values, decoded as Float32Array, depth)) as [
    ReturnType<typeof productsOf>,
    ReturnType<typeof productsOf>,
  ];
  for (const [i, y] of h.entries()) {
    const { value: a, magnitude: wide } = g[i]!;
    const { value: b, magnitude } = u[i]!;
    const silu = a / (1 + Math.exp(-a));
    const bound = 2 ** -10 * (1.1 * wide * Math.abs(b) + Math.abs(silu) * magnitude + wide * magnitude * 2 ** -9);
    if (!(Math.abs(y - silu * b) <= bound)) expect.fail(`element ${i}: ${y}, expected ${silu * b}`);
  }
  await backend.dispose();
});
