import { createProgram, createRuntime, reference } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../../packages/backend-cuda/src/backend.ts";
import { InterpretedDriver } from "../../../packages/backend-cuda/test/interpreter/interpretedDriver.ts";
import { uniform } from "../src/stats/random.ts";
import { predecessor } from "../src/suites/predecessor.ts";
import { tiledGemm } from "../src/suites/tiledGemm.ts";

test("the predecessor's tiled product is right on several tiles along each axis", async () => {
  const [m, k, n] = [32, 48, 16];
  const program = createProgram();
  program.output("y", program.custom(tiledGemm, [program.input("a", "f32", [m, k]), program.input("b", "f32", [k, n])]));
  const inputs = { a: uniform(1, m * k), b: uniform(2, k * n) };
  const cuda = { name: "cuda", open: async () => new CudaBackend(new InterpretedDriver()) };
  const results: (readonly number[])[] = [];
  for (const factory of [cuda, reference()]) {
    await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
    const plan = await runtime.compile(program);
    results.push([...((await plan.run(inputs).y!.data()) as Float32Array)]);
  }
  const [got, want] = results;
  for (const [i, value] of want!.entries()) expect(Math.abs(got![i]! - value)).toBeLessThan(1e-5);
});

test("its text has a row of its own in the predecessor's tables", () => {
  const rows = predecessor.rows({
    kind: "cpu",
    backends: [],
    competitors: [],
    modelCompetitors: [],
    models: [],
    quick: true,
    memoryBytes: 2 ** 20,
  });
  const row = rows.find(({ id }) => id === "PTX of a tiled matmul 128×128×128 by the builder");
  expect(row?.note).toMatch(/^2\.\d KB, \d\d lines, 1 kernel; predecessor: 14\.7 µs/);
});
