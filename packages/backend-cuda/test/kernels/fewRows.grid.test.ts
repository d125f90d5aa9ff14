import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { createProgram } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { isWholeGrid } from "@centella/test-devices";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { generatePtx } from "../../src/generatePtx.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";
import { expectProducts } from "./productBounds.ts";
import { depthOf, expectUnitProducts, half, ProductsOfOneTensor, type UnitType, unitTypes } from "./unitProducts.ts";

/** Without products of warpgroups, which multiply several rows. Devices before 9.0 have no bulk copies, those of 8.6 the least shared memory. */
const capabilities = [
  [10, 0],
  [8, 0],
  [8, 6],
] as const;

function open(capability: (typeof capabilities)[number] = [10, 0]): CudaBackend {
  return new CudaBackend(new InterpretedDriver(capability));
}

// Numbers of rows that make 1, 2, 4, 8 and 16 columns, not all of them whole, and several groups of 16.
const rowCounts = [1, 2, 3, 8, 17, 29];

/** Types whose kernels differ most. The whole grid takes minutes. */
const sample = ["f16", "q8_0", "q4_K", "iq2_xs"] as const;

describe.each(isWholeGrid ? unitTypes : sample)("few rows by a %s weight", (dtype) => {
  // 3 multiprocessors: one has two tiles. The second shape has parts of tiles and of units, the third fewer units than a block has warps, and more items.
  const shapes = [
    [64, 2304],
    [19, depthOf(dtype, 288)],
    [144, 768],
  ] as const;
  // In the sample, each of the other capabilities has one of the shapes.
  const grid = shapes.flatMap(([columns, depth], i) =>
    capabilities.flatMap((capability, j) => (isWholeGrid || j === 0 || i === j - 1 ? [{ columns, depth, capability }] : [])),
  );
  test.each(grid)("$columns x $depth, capability $capability", async ({ columns, depth, capability }) => {
    const counts = rowCounts.slice(columns > 100 ? 3 : 0, depth > 1000 ? (capability[0] === 8 ? 4 : 5) : undefined);
    await expectUnitProducts(open(capability), { dtype, columns, depth, most: 32, rowCounts: counts });
  });
});

// Activations so large that a block of 99 KiB has room for smaller copies, fewer slots, and a round for each item.
test.each([
  { dtype: "f16", columns: 64, depth: 14_336, rows: 1 },
  { dtype: "q4_K", columns: 64, depth: 14_336, rows: 1 },
  { dtype: "q8_0", columns: 32, depth: 14_336, rows: 1 },
  { dtype: "q4_K", columns: 144, depth: 4096, rows: 8 },
] as const)("$rows of $depth x $columns in $dtype with little shared memory", ({ dtype, columns, depth, rows }) =>
  expectUnitProducts(open([8, 6]), { dtype, columns, depth, most: rows, rowCounts: [rows] }),
);

describe("blocks that copy more than 80 KiB for one row bring several units with a copy, others one, unless units are not decoded", () => {
  /** Bytes of the copies of a product of one row. */
  const copiesOf = (dtype: UnitType, shape: readonly [number, number]): readonly number[] => {
    const program = createProgram();
    program.output("y", program.matmul(program.input("x", "f32", [1, shape[1]]), program.persistent("w", { dtype, shape }), half));
    const { ptx } = elementAt(generatePtx(program), 0);
    return [...new Set([...ptx.matchAll(/mbarrier\.arrive\.expect_tx\S* _, \S+, (\d+);/g)].map(([, bytes]) => Number(bytes)))];
  };

  test("by their texts for an H200", () => {
    expect(copiesOf("q4_K", [4096, 4096])).toEqual([2304]);
    expect(copiesOf("q4_K", [6144, 4096])).toEqual([2 * 2304]);
    expect(copiesOf("f16", [2048, 2048])).toEqual([4 * 2048]);
  });

  // 3 multiprocessors: one has two tiles of 20 units.
  test.each(["f16", "bf16", "q4_0", "q4_1", "q4_K"] as const)("and compute the products of %s", (dtype) =>
    expectUnitProducts(open(), { dtype, columns: 64, depth: 20 * 256, most: 1, rowCounts: [1] }),
  );
});

test("products of one tensor are two launches: results of one product, with a bias and with a residual, and the result of two", async () => {
  const products = new ProductsOfOneTensor("q4_K", 512, 4);
  expect(generatePtx(products.program).map(({ entry }) => entry)).toEqual(["matmulFew_q4_K_q8_0_q6_K", "matmulFew_q5_K_q4_K"]);
  await products.expectOn(open(), [1, 3]);
});

test.each(capabilities.slice(1).map((capability) => ({ capability })))(
  "products of one tensor, with epilogues, on a device of capability $capability.0.$capability.1",
  async ({ capability }) => {
    await new ProductsOfOneTensor("q4_K", 512, 4).expectOn(open(capability), [1, 3]);
  },
);

test.each([1e-12, 1, 3e6, 1e30])("rows of magnitude %d keep their precision", async (size) => {
  const depth = 256;
  const { stored, decoded, spec } = contentsOf({ dtype: "q8_0", shape: [16, depth] }, 5);
  const program = createProgram();
  program.output("y", program.matmul(program.input("x", "f32", [program.dim("T", 2), depth]), program.persistent("w", spec), half));
  const backend = open();
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(stored));
  for (const rows of [1, 2]) {
    // The rows of a run have different magnitudes.
    const values = uniform(9, rows * depth).map((x, i) => x * size * (i < depth ? 1 : 1e-5));
    expectProducts(await plan.run({ x: values }).y!.data(), values, decoded as Float32Array, depth, "q8_0");
  }
  await backend.dispose();
});

test("a program that reads a shared weight otherwise is refused, unless it was named", async () => {
  const spec = { dtype: "q8_0", shape: [16, 256] } as const;
  const product = createProgram();
  product.output("y", product.matmul(product.input("x", "f32", [1, 256]), product.persistent("w", spec), half));
  const reader = createProgram();
  reader.output("w", reader.dequantize(reader.persistent("w", spec)));
  const backend = new CudaBackend(new InterpretedDriver());
  const plan = await backend.compile(product);
  await expect(backend.compile(reader, { shareWith: plan })).rejects.toThrow(
    "cuda: persistent w: unsupported: the plan that shares it holds it in the order of products",
  );
  const open = await backend.compile(product, { sharedBy: [reader] });
  const { stored, decoded } = contentsOf(spec, 1);
  await open.load("w", sourceOf(stored));
  const shared = await backend.compile(reader, { shareWith: open });
  expect(await shared.run({}).w!.data()).toEqual(decoded);
  await backend.dispose();
});

test("a row is loaded when few copies are under way, after the wait, and the weights of its norm before all copies", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [1, 4096]);
  const norm = program.rmsNorm(x, program.input("w", "f32", [4096]), { eps: 1e-5 });
  program.output("y", program.matmul(norm, program.persistent("m", { dtype: "q4_K", shape: [28672, 4096] }), half));
  const lines = generatePtx(program)[0]!.ptx.split("\n");
  const of = (part: string): readonly number[] => lines.flatMap((line, i) => (line.includes(part) ? [i] : []));
  // The copies: those before the wait, those that fill the rings, those that fill them again.
  const [[wait], copies, loads] = [
    of("griddepcontrol.wait"),
    of("cp.async.bulk"),
    of("ld.global").filter((i) => !lines[i]!.includes("u32")),
  ];
  expect(copies).toHaveLength(3);
  expect(copies[0]).toBeLessThan(wait!);
  const [weights, rows] = [loads.slice(0, 4), loads.slice(4)];
  expect(weights.at(-1)).toBeLessThan(copies[0]!);
  expect(rows[0]).toBeGreaterThan(wait!);
  expect(rows.at(-1)).toBeLessThan(copies[1]!);
});

test.each([
  { rows: 28672, isLarge: true },
  { rows: 4096, isLarge: true },
  { rows: 1024, isLarge: false },
])(
  "a product with $rows rows of weights lets the next launch start first of all, or after its activations are staged where it is large",
  ({ rows, isLarge }) => {
    const program = createProgram();
    const x = program.input("x", "f32", [1, 4096]);
    program.output("y", program.matmul(x, program.persistent("m", { dtype: "q4_K", shape: [rows, 4096] }), half));
    const { ptx } = generatePtx(program)[0]!;
    const steps = ptx.match(/griddepcontrol\.\w+|cp\.async\.bulk|mma\.sync/g)!;
    const order = steps.filter((step, i) => step !== steps[i - 1]);
    const started = "griddepcontrol.launch_dependents";
    const waited = "griddepcontrol.wait";
    const copied = "cp.async.bulk";
    // Blocks of few bytes have no copies left to start after the wait, but those that fill slots again.
    expect(order.slice(0, 5)).toEqual(isLarge ? [copied, waited, copied, started, copied] : [started, copied, waited, copied, "mma.sync"]);
  },
);
