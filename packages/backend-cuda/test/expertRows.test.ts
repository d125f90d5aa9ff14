import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { createProgram } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { generatePtx } from "../src/index.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";
import { expectProducts } from "./productBounds.ts";

const [count, depth, chosen] = [5, 512, 2];

/** Products of `tokens` with two experts each. `isEach`: with a vector for each expert. */
function programOf(dtype: "q4_K" | "q8_0" | "bf16", rows: number, isEach: boolean): ProgramGraph {
  const program = createProgram();
  const tokens = program.dim("T", 32);
  const x = program.input("x", "f32", isEach ? [tokens, chosen, depth] : [tokens, depth]);
  const experts = program.persistent("experts", { dtype, shape: [count, rows, depth] });
  program.output("y", program.moeMatmul(x, experts, program.input("ids", "i32", [tokens, chosen]), { activations: "half" }));
  return program;
}

test.each([
  ["q4_K", 48, false],
  ["q8_0", 32, true],
  ["bf16", 16, false],
] as const)("rows multiply %s experts of %i rows in units", async (dtype, rows, isEach) => {
  const program = programOf(dtype, rows, isEach);
  expect(generatePtx(program).map(({ entry }) => entry)).toEqual([`moeMatmulFew_${dtype}`]);
  const backend = new CudaBackend(new InterpretedDriver());
  const plan = await backend.compile(program);
  const { stored, decoded } = contentsOf({ dtype, shape: [count, rows, depth] }, 3);
  await plan.load("experts", sourceOf(stored));
  for (const tokens of [1, 2, 8, 17]) {
    const x = uniform(tokens, tokens * depth * (isEach ? chosen : 1));
    const ids = Int32Array.from({ length: tokens * chosen }, (_, i) => (3 * i + tokens) % count);
    const y = (await plan.run({ x, ids }).y!.data()) as Float32Array;
    for (const [i, id] of ids.entries()) {
      const row = isEach ? i : Math.floor(i / chosen);
      const matrix = (decoded as Float32Array).subarray(id * rows * depth, (id + 1) * rows * depth);
      expectProducts(y.subarray(i * rows, (i + 1) * rows), x.subarray(row * depth, (row + 1) * depth), matrix, depth, dtype);
    }
  }
  await backend.dispose();
});

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
