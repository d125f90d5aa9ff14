import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { createProgram, type Value } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { generatePtx } from "../src/index.ts";
import { extremeTypes } from "./extremeWeights.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";
import { expectProducts } from "./productBounds.ts";
import { depthOf, expectExtremeProducts, expectGated, expectUnitProducts, half, type UnitProduct, unitTypes } from "./unitProducts.ts";

function open(): CudaBackend {
  return new CudaBackend(new InterpretedDriver(), undefined, ["mixed-input"]);
}

// 3 multiprocessors: blocks share the tiles of the larger shape, which has two tiles of rows. The smaller one has parts of tiles, of panels and of units.
const larger = { columns: 300, depth: 768, most: 512, rowCounts: [257] };
const smaller = { columns: 19, depth: 288, most: 128, rowCounts: [9, 65] };
const few = { columns: 260, depth: 1024, most: 16, rowCounts: [9, 16] };
const grid = unitTypes.flatMap((dtype) => [larger, smaller, few].map((shape) => ({ ...shape, dtype, depth: depthOf(dtype, shape.depth) })));
/** Types and shapes whose kernels differ most. The whole grid takes minutes. */
const sample: readonly UnitProduct[] = [
  { dtype: "f16", columns: 140, depth: 576, most: 16, rowCounts: [9] },
  { dtype: "q4_K", columns: 19, depth: 256, most: 128, rowCounts: [65] },
  { dtype: "q8_0", columns: 150, depth: 512, most: 32, rowCounts: [17] },
  { dtype: "q6_K", columns: 20, depth: 256, most: 512, rowCounts: [257] },
];

test.each(isWholeGrid ? grid : sample)("$rowCounts rows by a $dtype weight of $columns x $depth", { timeout: 60_000 }, (product) =>
  expectUnitProducts(open(), product),
);

test.each(extremeTypes)("weights of %s may be as large and as small as the type holds", (dtype) => expectExtremeProducts(open(), dtype));

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
  const backend = open();
  const plan = await backend.compile(program);
  for (const { name, stored } of contents) await plan.load(name, sourceOf(stored));
  const values = uniform(rows, rows * depth);
  const [bias, residual] = [uniform(5, 19), uniform(6, rows * 19)];
  const outputs = plan.run({ x: values, bias, residual });
  const of = async (name: string): Promise<Float32Array> => (await outputs[name]!.data()) as Float32Array;
  const [h, added] = [await of("h"), { k: await of("k"), v: await of("v") }];
  const plain = { q: await of("q"), k: added.k.map((y, i) => y - bias[i % 19]!), v: added.v.map((y, i) => y - residual[i]!) };
  for (const { name, decoded, spec } of contents.slice(0, 3))
    expectProducts(plain[name as keyof typeof plain], values, decoded as Float32Array, depth, spec.dtype, 1e-5);
  const [gates, ups] = contents.slice(3).map(({ decoded }) => decoded) as [Float32Array, Float32Array];
  expectGated(h, values, gates, ups, depth);
  await backend.dispose();
});
