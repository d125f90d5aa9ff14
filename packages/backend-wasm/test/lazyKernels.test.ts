import { runConformance } from "@centella/conformance/headless";
import { createProgram, createRuntime, type OpName, UnsupportedError } from "@centella/core";
import { ops, type ProgramGraph } from "@centella/core/backend";
import { expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { isLazy, loadedKernels } from "../src/kernels/lazy/lazyKernels.ts";
import { lazyPart } from "../src/linking/lazyParts.ts";

function record(op: "relu" | "cumsum" | "sin"): ProgramGraph {
  const program = createProgram();
  program.output("y", program[op](program.input("x", "f32", [3])));
  return program;
}

/** Products of some weights are lazy too. */
function hasLazyOp(id: string): boolean {
  const name = id.slice(0, id.indexOf(":"));
  return Object.hasOwn(ops, name) && (name === "matmul" || isLazy(ops[name as OpName]));
}

// One test, because loaded code stays loaded.
test("a backend without calls within a call loads kernels with the program that has them, and computes all that there are", async () => {
  const backend = await wasm({ sync: false, threads: 2 }).open();
  await backend.compile(record("relu"));
  expect(loadedKernels()).toEqual([]);
  expect(() => lazyPart("floats")).toThrow(UnsupportedError);
  const plan = await backend.compile(record("cumsum"));
  expect(loadedKernels()).not.toEqual([]);
  expect(await plan.run({ x: Float32Array.of(1, 2, 4) }).y!.data()).toEqual(Float32Array.of(1, 3, 7));

  const lazy = loadedKernels();
  const failed: string[] = [];
  let passed = 0;
  for await (const { id, status, message } of runConformance(backend, { filter: hasLazyOp })) {
    if (status === "failed") failed.push(`${id}: ${message}`);
    if (status === "passed") passed++;
  }
  expect(failed).toEqual([]);
  expect(passed).toBeGreaterThan(200);
  expect(loadedKernels().length).toBeGreaterThan(lazy.length);
  await backend.dispose();
});

test("sync compilation is refused, but plans run within the call", async () => {
  const runtime = await createRuntime({ backends: [wasm({ sync: false, threads: 1 })], policy: { force: "wasm" } });
  const x = Float32Array.of(-1, 0, 2);
  const tensor = await runtime.relu(runtime.tensor(x));
  expect(await tensor.data()).toEqual(Float32Array.of(0, 0, 2));
  expect(() => runtime.sync.relu(tensor)).toThrow(UnsupportedError);
  expect(() => runtime.sync.relu(tensor)).toThrow(/wasm: it answers later, not within the call/);
  const plan = await runtime.compile(record("sin"));
  expect(plan.runSync!({ x }).y).toEqual((await plan.run({ x }).y!.data()) as Float32Array);
  await runtime.dispose();
});
