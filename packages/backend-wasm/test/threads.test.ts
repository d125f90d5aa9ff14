import { spawnSync } from "node:child_process";
import { Worker } from "node:worker_threads";
import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, DeviceLostError, type Plan, type TypedArray, UnsupportedError } from "@centella/core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { wasm } from "../src/index.ts";
import { PlanLinker } from "../src/linking/planLinker.ts";
import { Control } from "../src/threads/control.ts";
import { ThreadPool } from "../src/threads/pool.ts";
import { targets } from "./shared.ts";

/** Compares bytes: matchers take seconds for arrays of this size. */
function isSame(a: TypedArray, b: TypedArray): boolean {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength));
}

/** The thread that a process starts next. Its threads have ascending ids. */
async function nextThread(): Promise<number> {
  const worker = new Worker("", { eval: true });
  const { threadId } = worker;
  await worker.terminate();
  return threadId;
}

test.each([
  ["the second run of a plan that they compute faster", 128, [false, true]],
  ["a long first run", 2048, [true, true]],
])("threads start with %s", async (_name, rows, isStarted) => {
  const backend = await wasm().open();
  const program = createProgram();
  program.output("y", program.matmul(program.input("x", "f32", [rows, 1024]), program.input("w", "f32", [1024, 1024])));
  const plan = await backend.compile(program);
  const inputs = { x: new Float32Array(rows * 1024).fill(1), w: new Float32Array(1024 * 1024).fill(1) };
  const first = await nextThread();
  for (const [run, expected] of isStarted.entries()) {
    const y = await plan.run(inputs).y!.data();
    expect(y.every((value) => value === 1024)).toBe(true);
    const started = (await nextThread()) - first - 1 - run;
    expect(started > 0).toBe(expected);
  }
  await backend.dispose();
});

describe.each(targets)("results do not depend on the number of threads, relaxed: $relaxed", ({ relaxed }) => {
  const counts = [1, 2, 3, 8] as const;
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
  const [n, layers] = [1024, 60];
  const plan = await chain(backend, layers, n);
  const controller = new AbortController();
  onceRunning(() => controller.abort(new Error("enough")));
  const { y } = plan.run({ x: uniform(1, 128 * n) }, { signal: controller.signal });
  await expect(y!.data()).rejects.toThrow("enough");
  expect(backend.counters.ops.matmul ?? 0).toBeLessThan(layers);
  const zeros = await plan.run({ x: new Float32Array(128 * n) }).y!.data();
  expect(zeros.every((value) => value === 0)).toBe(true);
  await backend.dispose();
});

/** Calls back when a list was given to the threads, before this thread does anything else. */
function onceRunning(act: () => void): void {
  const { run } = ThreadPool.prototype;
  const spy = vi.spyOn(ThreadPool.prototype, "run").mockImplementation(function (this: ThreadPool, ...args) {
    spy.mockRestore();
    const done = run.apply(this, args);
    act();
    return done;
  });
}

/** A chain of products that takes `layers` × some ms. */
async function chain(backend: Backend, layers: number, n = 512): Promise<Plan> {
  const program = createProgram();
  const w = program.persistent("w", { dtype: "q8_0", shape: [n, n] });
  let x = program.input("x", "f32", [128, n]);
  for (let layer = 0; layer < layers; layer++) x = program.matmul(x, w, { transposeB: true, activations: "ggml" });
  program.output("y", x);
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(contentsOf({ dtype: "q8_0", shape: [n, n] }, 1).stored));
  return plan;
}

test.each([1, 2])("an awaited run leaves the caller's thread free, threads: %s", async (threads) => {
  const backend = (await wasm({ threads }).open()) as WasmBackend;
  const plan = await chain(backend, 60);
  const x = uniform(1, 128 * 512);
  const { y } = plan.run({ x });
  let isDone = false;
  void y!.ready().then(() => {
    isDone = true;
  });
  // The list is running and this thread is here, so another thread runs it.
  const control = new Control(backend.heap);
  let seen = 0;
  while (!isDone) {
    if (control.isRunning) seen++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(seen).toBeGreaterThan(10);
  await backend.dispose();
});

test("a thread that dies during a run raises a typed error, and the backend continues without threads", async () => {
  // Repeated, because whether a thread writes after the error is a matter of chance.
  for (let time = 0; time < 8; time++) await loseThreads();
});

async function loseThreads(): Promise<void> {
  const backend = (await wasm({ threads: 2 }).open()) as WasmBackend;
  const plan = await chain(backend, 200);
  const x = uniform(1, 128 * 512);
  onceRunning(() => backend.pool!.markLost());
  const { y } = plan.run({ x });
  await expect(y!.data()).rejects.toThrow(DeviceLostError);
  expect(backend.pool).toBeUndefined();
  const zeros = await plan.run({ x: new Float32Array(128 * 512) }).y!.data();
  expect(zeros.every((value) => value === 0)).toBe(true);
  await backend.dispose();
}

test("threads that are starting write no constants of functions that are disposed of", async () => {
  const backend = (await wasm().open()) as WasmBackend;
  const { memory } = backend.instance;
  const functions = new PlanLinker(memory, backend.target, backend.pool);
  functions.emit("constant", (builder, name) => {
    builder.function(name, { at: "i32" }, (f, { at }) => f.store(at, f.splat(3)));
  });
  await functions.load();
  const shared = functions.share();
  functions.dispose();
  const size = 4096;
  // Takes the memory that is free.
  const tensors = Array.from({ length: 8 }, () => backend.upload({ dtype: "u8", shape: [size] }, new Uint8Array(size).fill(7)));
  await shared;
  for (const tensor of tensors) expect((await tensor.data()).every((value) => value === 7)).toBe(true);
  await backend.dispose();
});

describe("a process that can start no thread", () => {
  const { getBuiltinModule } = process;
  const startNone = (): void => {
    vi.spyOn(process, "getBuiltinModule").mockImplementation((id: string) => {
      const Worker = class {
        constructor() {
          throw new Error("no thread is left");
        }
      };
      return (id === "node:worker_threads" ? { Worker } : getBuiltinModule(id)) as never;
    });
  };
  afterEach(() => vi.restoreAllMocks());
  // Runs are long enough for threads.
  const count = 2 ** 23;
  const doubled = (): ReturnType<typeof createProgram> => {
    const program = createProgram();
    const x = program.input("x", "f32", [count]);
    program.output("y", program.add(x, x));
    return program;
  };

  test("computes on the caller's thread", async () => {
    startNone();
    const backend = await wasm().open();
    const plan = await backend.compile(doubled());
    for (let run = 0; run < 3; run++) {
      const y = await plan.run({ x: new Float32Array(count).fill(1) }).y!.data();
      expect(y.every((value) => value === 2)).toBe(true);
    }
    expect((backend as WasmBackend).pool).toBeUndefined();
    await backend.dispose();
  });

  test("refuses programs if threads were asked for", async () => {
    startNone();
    const backend = await wasm({ threads: 2 }).open();
    const error = await backend.compile(doubled()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect((error as Error).message).toContain("threads cannot start (Error: no thread is left); use threads: 1");
    await backend.dispose();
  });

  test("refuses runs of programs that were compiled in the background if threads were asked for", async () => {
    startNone();
    const backend = await wasm({ threads: 2 }).open();
    const plan = await backend.compile(doubled(), { background: true });
    const run = (): Promise<unknown> => plan.run({ x: new Float32Array(count).fill(1) }).y!.data();
    // The first run needs no threads, and starts none; the second one does not wait for them.
    await run();
    await run().catch(() => undefined);
    await expect(run()).rejects.toThrow("threads cannot start (Error: no thread is left); use threads: 1");
    await expect(run()).rejects.toThrow(UnsupportedError);
    await backend.dispose();
  });
});

test("a program that is compiled in the background does not wait for threads, which later runs use", async () => {
  const backend = (await wasm({ threads: 2 }).open()) as WasmBackend;
  const program = createProgram();
  const x = program.input("x", "f32", [2 ** 23]);
  program.output("y", program.add(x, x));
  const plan = await backend.compile(program, { background: true });
  expect(backend.instance.isSharing).toBe(false);
  const isSharing = async (): Promise<boolean> => {
    const y = await plan.run({ x: new Float32Array(2 ** 23).fill(1) }).y!.data();
    expect(y[0]).toBe(2);
    return backend.instance.isSharing;
  };
  await expect.poll(isSharing).toBe(true);
  await backend.dispose();
});

test("a process with threads that disposes of nothing exits", () => {
  const program = `
    import { wasm } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
    import { createProgram } from ${JSON.stringify(new URL("../../core/src/index.ts", import.meta.url).href)};
    const backend = await wasm({ threads: 3 }).open();
    const program = createProgram();
    const x = program.input("x", "f32", [256, 512]);
    program.output("y", program.matmul(x, program.input("w", "f32", [512, 512])));
    const plan = await backend.compile(program);
    // Long enough to be the pool's; one result is read, one left alone, and one run is not waited for.
    const inputs = { x: new Float32Array(256 * 512), w: new Float32Array(512 * 512) };
    await plan.run(inputs).y.data();
    await plan.run(inputs).y;
    plan.run(inputs);
    console.log(backend.device.name);
  `;
  const { stdout, status, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@centella/source", "--no-warnings", "--input-type=module", "-e", program],
    { encoding: "utf8", timeout: 300_000 },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/3 threads/);
});
