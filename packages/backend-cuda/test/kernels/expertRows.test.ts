import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { createProgram } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { generatePtx } from "../../src/generatePtx.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";
import { expectProducts } from "./productBounds.ts";

const [count, depth, chosen] = [5, 512, 2];

type ExpertType = "q4_K" | "q6_K" | "q8_0" | "bf16";

/** Products of up to `most` tokens with two experts each. `isEach`: with a vector for each expert. */
function programOf(dtype: ExpertType, rows: number, isEach: boolean, most = 9): ProgramGraph {
  const program = createProgram();
  const tokens = program.dim("T", most);
  const x = program.input("x", "f32", isEach ? [tokens, chosen, depth] : [tokens, depth]);
  const experts = program.persistent("experts", { dtype, shape: [count, rows, depth] });
  program.output("y", program.moeMatmul(x, experts, program.input("ids", "i32", [tokens, chosen]), { activations: "half" }));
  return program;
}

test.each([
  ["q4_K", 48, false, [9, 0]],
  ["q8_0", 32, true, [9, 0]],
  ["bf16", 16, false, [9, 0]],
  ["q6_K", 48, true, [8, 0]],
  ["q4_K", 32, false, [8, 6]],
  ["bf16", 16, false, [8, 0]],
] as const)("rows multiply %s experts of %i rows in units, a vector each: %s, capability %o", async (dtype, rows, isEach, capability) => {
  const program = programOf(dtype, rows, isEach);
  expect(generatePtx(program).map(({ entry }) => entry)).toEqual([`moeMatmulFew_${dtype}`]);
  const backend = new CudaBackend(new InterpretedDriver(capability));
  for (const tokens of [1, 2, 8])
    await expectExperts(backend, program, {
      dtype,
      rows,
      isEach,
      ids: Int32Array.from({ length: tokens * chosen }, (_, i) => (3 * i + tokens) % count),
    });
  await backend.dispose();
});

/** @throws unless the products of a run are exact. Those with experts that do not exist are 0. */
async function expectExperts(
  backend: CudaBackend,
  program: ProgramGraph,
  { dtype, rows, isEach, ids }: { readonly dtype: ExpertType; readonly rows: number; readonly isEach: boolean; readonly ids: Int32Array },
): Promise<void> {
  const plan = await backend.compile(program);
  const { stored, decoded } = contentsOf({ dtype, shape: [count, rows, depth] }, 3);
  await plan.load("experts", sourceOf(stored));
  const x = uniform(ids.length, ids.length * depth * (isEach ? 1 : 1 / chosen));
  const y = (await plan.run({ x, ids }).y!.data()) as Float32Array;
  for (const [i, id] of ids.entries()) {
    const row = isEach ? i : Math.floor(i / chosen);
    const own = y.subarray(i * rows, (i + 1) * rows);
    const matrix = (decoded as Float32Array).subarray(id * rows * depth, (id + 1) * rows * depth);
    if (matrix.length === 0) expect(own.every((value) => value === 0)).toBe(true);
    else expectProducts(own, x.subarray(row * depth, (row + 1) * depth), matrix, depth, dtype);
  }
}

// Experts have one tile of rows, several, and none; one id is of no expert.
const unevenIds = Int32Array.from({ length: 2 * 100 }, (_, i) => (i === 7 ? -1 : i % 9 === 0 ? 4 : i % 5 === 0 ? 2 : 0));

test.each([
  ["q4_K", 64, false, [9, 0], "matmulMany_f16"],
  ["bf16", 128, true, [9, 0], "matmulMany_bf16"],
  ["q6_K", 64, true, [8, 0], "matmulManyByWarps_f16"],
] as const)("many rows multiply %s experts of %i rows by expert", async (dtype, rows, isEach, capability, multiply) => {
  const program = programOf(dtype, rows, isEach, 100);
  if (capability[0] === 9)
    expect(generatePtx(program).map(({ entry }) => entry)).toEqual([
      "expertSlots",
      `roundRows_${halfOf(dtype)}`,
      ...(dtype === "bf16" ? [] : [`decodeUnits_${dtype}`]),
      multiply,
    ]);
  const backend = new CudaBackend(new InterpretedDriver(capability));
  await expectExperts(backend, program, { dtype, rows, isEach, ids: unevenIds });
  await backend.dispose();
});

test("stacks of experts are decoded in parts of whole experts", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [64, 4096]);
  const experts = program.persistent("experts", { dtype: "q4_0", shape: [8, 8192, 4096] });
  program.output("y", program.moeMatmul(x, experts, program.input("ids", "i32", [64, 2]), { activations: "half" }));
  const part = ["decodeUnits_q4_0", "matmulMany_f16"];
  expect(generatePtx(program).map(({ entry }) => entry)).toEqual(["expertSlots", "roundRows_f16", ...part, ...part]);
});

function halfOf(dtype: ExpertType): "f16" | "bf16" {
  return dtype === "bf16" ? dtype : "f16";
}

test("products with experts that do not exist are zeros", async () => {
  const backend = new CudaBackend(new InterpretedDriver());
  const plan = await backend.compile(programOf("q8_0", 32, false));
  await plan.load("experts", sourceOf(contentsOf({ dtype: "q8_0", shape: [count, 32, depth] }, 3).stored));
  const y = await plan.run({ x: uniform(1, depth), ids: Int32Array.of(-1, count) }).y!.data();
  expect([...y].every((value) => value === 0)).toBe(true);
  await backend.dispose();
});

test("experts of parts of row tiles are read weight by weight", () => {
  expect(generatePtx(programOf("q8_0", 24, false)).map(({ entry }) => entry)).toEqual(["moeMatmul_q8_0"]);
});
