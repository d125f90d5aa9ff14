import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type ConcreteSpec, createProgram, type Value } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { generatePtx } from "../../src/generatePtx.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";
import { extremeTypes } from "./extremeWeights.ts";
import { expectProducts } from "./productBounds.ts";
import { depthOf, expectExtremeProducts, expectGated, expectUnitProducts, half, unitTypes } from "./unitProducts.ts";

/** With products of warpgroups, and with those of warps. */
const capabilities = [
  [9, 0],
  [8, 0],
] as const;

function open(capability: (typeof capabilities)[number] = [9, 0]): CudaBackend {
  return new CudaBackend(new InterpretedDriver(capability));
}

// 3 multiprocessors, whose warpgroups have several tiles of the larger shape, each deeper than the ring. The smaller one has parts of tiles, of panels and of units.
const larger = { columns: 300, depth: 512, rowCounts: [513] };
const smaller = { columns: 19, depth: 288, rowCounts: [514] };
const grid = unitTypes.flatMap((dtype) =>
  [larger, smaller].flatMap(({ columns, depth, rowCounts }) =>
    capabilities.map((capability) => ({
      dtype,
      capability,
      columns,
      depth: depthOf(dtype, depth),
      most: 1024,
      // Products of warps take the interpreter longer.
      rowCounts: capability[0] === 8 ? rowCounts.slice(0, 1).map((count) => Math.min(count, 130)) : rowCounts,
    })),
  ),
);
/** Types and shapes whose kernels differ most. The whole grid takes minutes. */
const sample: typeof grid = [
  { dtype: "f16", capability: [9, 0], columns: 140, depth: 512, most: 1024, rowCounts: [513] },
  { dtype: "bf16", capability: [9, 0], columns: 19, depth: 72, most: 256, rowCounts: [65, 200] },
  { dtype: "q4_K", capability: [9, 0], columns: 19, depth: 256, most: 1024, rowCounts: [513] },
  { dtype: "bf16", capability: [8, 0], columns: 20, depth: 320, most: 1024, rowCounts: [130] },
  { dtype: "q6_K", capability: [8, 0], columns: 35, depth: 256, most: 1024, rowCounts: [9, 65] },
];

test.each(isWholeGrid ? grid : sample)(
  "$rowCounts rows by a $dtype weight of $columns x $depth, capability $capability",
  ({ capability, ...product }) => expectUnitProducts(open(capability), product),
);

test.each(extremeTypes)("weights of %s may be as large and as small as the type holds", (dtype) =>
  expectExtremeProducts(open([8, 0]), dtype),
);

test("products of one tensor are multiplied together, with their epilogues", async () => {
  const depth = 256;
  const rows = 513;
  const weights = { q: ["q4_K", 48], k: ["q8_0", 19], v: ["q6_K", 19] } as const;
  const contents = Object.entries(weights).map(([name, [dtype, n]]) => ({ name, ...contentsOf({ dtype, shape: [n, depth] }, n) }));
  const program = createProgram();
  const rowCount = program.dim("T", 1024);
  const x = program.input("x", "f32", [rowCount, depth]);
  const [q, k, v] = contents.map(({ name, spec }) => program.matmul(x, program.persistent(name, spec), half)) as [Value, Value, Value];
  const doubled = program.add(program.mul(q, program.input("two", "f32", [48])), program.input("shift", "f32", [48]));
  program.output("q", program.add(doubled, program.input("more", "f32", [rowCount, 48])));
  program.output("k", program.add(k, program.input("bias", "f32", [19])));
  program.output("v", program.add(v, program.input("residual", "f32", [rowCount, 19])));
  expect(generatePtx(program).map(({ entry }) => entry)).toEqual(["roundRows_f16", "decodeUnits_q4_K_q8_0_q6_K", "matmulMany_f16"]);
  const backend = open();
  const plan = await backend.compile(program);
  for (const { name, stored } of contents) await plan.load(name, sourceOf(stored));
  const values = uniform(rows, rows * depth);
  const [bias, residual] = [uniform(5, 19), uniform(6, rows * 19)];
  const [two, shift, more] = [new Float32Array(48).fill(2), uniform(7, 48), uniform(8, rows * 48)];
  const outputs = plan.run({ x: values, bias, residual, two, shift, more });
  const of = async (name: string): Promise<Float32Array> => (await outputs[name]!.data()) as Float32Array;
  const added = { q: await of("q"), k: await of("k"), v: await of("v") };
  const plain = {
    q: added.q.map((y, i) => (y - more[i]! - shift[i % 48]!) / 2),
    k: added.k.map((y, i) => y - bias[i % 19]!),
    v: added.v.map((y, i) => y - residual[i]!),
  };
  for (const { name, decoded, spec } of contents)
    expectProducts(plain[name as keyof typeof plain], values, decoded as Float32Array, depth, spec.dtype, 1e-5);
  await backend.dispose();
});

test.each([
  ["q5_K", "q4_K", 34, [9, 0]],
  ["q5_K", "q4_K", 34, [8, 0]],
  // Without decoding.
  ["f16", "f16", 34, [8, 0]],
  ["f16", "f16", 130, [9, 0]],
] as const)("gate of %s and up of %s are multiplied together, %i rows, capability %o", async (...test) => {
  const [gateType, upType, rows, capability] = test;
  const depth = 256;
  const [gate, up] = ([gateType, upType] as const).map((dtype, i) => contentsOf({ dtype, shape: [40, depth] }, i)) as [
    ReturnType<typeof contentsOf>,
    ReturnType<typeof contentsOf>,
  ];
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 160), depth]);
  const product = (name: string, spec: ConcreteSpec): Value => program.matmul(x, program.persistent(name, spec), half);
  program.output("h", program.mul(program.silu(product("gate", gate.spec)), product("up", up.spec)));
  const backend = open(capability);
  const plan = await backend.compile(program);
  await plan.load("gate", sourceOf(gate.stored));
  await plan.load("up", sourceOf(up.stored));
  const values = uniform(rows, rows * depth);
  const h = await plan.run({ x: values }).h!.data();
  expectGated(h, values, gate.decoded, up.decoded, depth);
  await backend.dispose();
});
