import { spawnSync } from "node:child_process";
import { type Backend, createProgram, DeviceLostError, type Plan, type TypedArray } from "@centella/core";
import { contentsOf, sourceOf, uniform } from "@centella/core/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Heap } from "../src/heap.ts";
import { wasm } from "../src/index.ts";
import { memoryMap, pageBytes } from "../src/memoryMap.ts";
import { emitModule, targetOf } from "../src/module.ts";
import { ThreadPool } from "../src/threads/pool.ts";
import { targets } from "./shared.ts";

/** Compares bytes: matchers take seconds for arrays of this size. */
function isSame(a: TypedArray, b: TypedArray): boolean {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength));
}

describe.each(targets)("any number of threads gives the same bits, relaxed: $relaxed", ({ relaxed }) => {
  const counts = [1, 2, 3] as const;
  let backends: readonly Backend[];
  beforeAll(async () => {
    backends = await Promise.all(counts.map((threads) => wasm({ relaxed, threads }).open()));
  });
  afterAll(() => Promise.all(backends.map((backend) => backend.dispose())));

  test.each([
    ["q4_0", true],
    ["q5_0", true],
    ["q8_0", true],
    ["q4_K", true],
    ["q6_K", true],
    ["f16", true],
    ["f32", true],
    ["f16", false],
    ["f32", false],
  ] as const)("%s, b as [n, k]: %s", async (dtype, transposeB) => {
    const [n, k, most] = [549, 768, 270];
    const shape = transposeB ? [n, k] : [k, n];
    const { stored } = contentsOf({ dtype, shape }, 1);
    const x = uniform(2, most * k);
    const compile = async (backend: Backend): Promise<Plan> => {
      const program = createProgram();
      const w = program.persistent("w", { dtype, shape });
      const input = program.input("x", "f32", [program.dim("T", most), k]);
      program.output("y", program.matmul(input, w, { transposeB, activations: "ggml" }));
      const plan = await backend.compile(program);
      await plan.load("w", sourceOf(stored));
      return plan;
    };
    const plans = await Promise.all(backends.map(compile));
    for (const tokens of [1, 3, most]) {
      const inputs = { x: x.slice(0, tokens * k) };
      const wanted = plans[0]!.runSync!(inputs).y!;
      for (const plan of plans) {
        for (let repeat = 0; repeat < 2; repeat++) {
          expect(isSame(plan.runSync!(inputs).y!, wanted), "in one go").toBe(true);
          expect(isSame(await plan.run(inputs).y!.data(), wanted), "with pauses").toBe(true);
        }
      }
    }
    for (const plan of plans) plan.dispose();
  });
});

test("an abort stops the threads within a step, and the next run is right", async () => {
  const backend = await wasm({ threads: 2 }).open();
  const program = createProgram();
  const [n, layers] = [1024, 60];
  const w = program.persistent("w", { dtype: "q8_0", shape: [n, n] });
  let x = program.input("x", "f32", [128, n]);
  for (let layer = 0; layer < layers; layer++) x = program.matmul(x, w, { transposeB: true, activations: "ggml" });
  program.output("y", x);
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(contentsOf({ dtype: "q8_0", shape: [n, n] }, 1).stored));
  const controller = new AbortController();
  const { y } = plan.run({ x: uniform(1, 128 * n) }, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 5);
  await expect(y!.data()).rejects.toThrow("enough");
  expect(backend.counters.ops.matmul ?? 0).toBeLessThan(layers);
  const zeros = await plan.run({ x: new Float32Array(128 * n) }).y!.data();
  expect(zeros.every((value) => value === 0)).toBe(true);
  await backend.dispose();
});

test("a helper that dies is a typed error or no harm, never a hang", async () => {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(memoryMap.heap / pageBytes), maximum: 1000, shared: true });
  const heap = new Heap(memory, 1000);
  const module = new WebAssembly.Module(emitModule(targetOf(false), true));
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  const pool = await ThreadPool.start(module, instance, memory, 1);
  const fn = instance.exports["decode.f32"] as (...args: number[]) => unknown;
  const at = heap.alloc(64, "other");
  pool.begin([{ fn, args: [at, at, 4] }]);
  while (pool.help());
  pool.endSync();
  // A call that was taken and never ends, as after the death of its thread.
  pool.dispose();
  pool.begin([
    { fn, args: [at, at, 4] },
    { fn, args: [at, at, 4] },
  ]);
  const control = new Int32Array(memory.buffer, memoryMap.control, 16);
  Atomics.sub(control, 1, 1);
  while (pool.help());
  expect(() => pool.endSync()).toThrow(DeviceLostError);
  expect(pool.isLost).toBe(true);
});

test("a process with threads that disposes of nothing exits", () => {
  const program = `
    import { wasm } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
    const backend = await wasm({ threads: 3 }).open();
    console.log(backend.device.name);
  `;
  const { stdout, status, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@centella/source", "--no-warnings", "--input-type=module", "-e", program],
    { encoding: "utf8", timeout: 20_000 },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/3 threads/);
});
