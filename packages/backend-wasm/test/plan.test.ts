import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Backend, type CustomOp, createProgram, OutOfMemoryError, type Plan } from "@centella/core";
import { hostTensor } from "@centella/core/backend";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { i32, ModuleBuilder, v128 } from "../src/emit/index.ts";
import { wasm } from "../src/index.ts";
import { Heap } from "../src/memory/heap.ts";

let backend: Backend;
beforeEach(async () => {
  backend = await wasm().open();
});
afterEach(() => backend.dispose());

async function chainOfProducts(size: number, length: number): Promise<Plan> {
  const program = createProgram();
  const w = program.persistent("w", { dtype: "f32", shape: [size, size] });
  let x = program.input("x", "f32", [size, size]);
  for (let i = 0; i < length; i++) x = program.matmul(x, w);
  program.output("y", x);
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(uniform(1, size * size).map((value) => value / Math.sqrt(size))));
  return plan;
}

describe("long runs", () => {
  const size = 512;

  test("the event loop runs while a run computes", async () => {
    const plan = await chainOfProducts(size, 24);
    const { y } = plan.run({ x: uniform(2, size * size) });
    let turns = 0;
    let isDone = false;
    const done = y!.ready().finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns++;
    }
    await done;
    // 6.4 GFLOP take at least 90 ms.
    expect(turns).toBeGreaterThan(4);
  });

  test("the event loop runs while short runs follow each other", async () => {
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [100])), { to: "device" });
    const plan = await backend.compile(program);
    const x = backend.upload({ dtype: "f32", shape: [100] }, new Float32Array(100));
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    // Runs this short are computed within the call, and awaiting them only runs microtasks.
    for (let run = 0; run < 1e6 && !turned; run++) {
      const { y } = plan.run({ x });
      await y!.ready();
      y!.dispose();
    }
    expect(turned).toBe(true);
  });

  test("the event loop runs while steps are recorded for new extents, and an abort frees everything", async () => {
    const program = createProgram();
    let x = program.input("x", "f32", [program.dim("T", 64), 8]);
    // Nothing to compute, but thousands of steps to record.
    for (let i = 0; i < 4000; i++) x = program.softmax(x, { axis: i % 2 });
    program.output("y", x);
    const plan = await backend.compile(program);
    await plan.run({ x: new Float32Array(8) }).y!.data();
    const before = backend.memory();
    for (const isAborted of [true, false]) {
      let turns = 0;
      const timer = setInterval(() => turns++, 1);
      const controller = new AbortController();
      const { y } = plan.run({ x: uniform(1, 16) }, { signal: controller.signal });
      if (isAborted) setImmediate(() => controller.abort(new Error("enough")));
      if (isAborted) await expect(y!.data()).rejects.toThrow("enough");
      else expect((await y!.data()).length).toBe(16);
      clearInterval(timer);
      if (isAborted) expect(backend.memory()).toEqual(before);
      else expect(turns).toBeGreaterThan(0);
    }
    plan.dispose();
  });

  test("an abort stops a run within a step, and the next run is right", async () => {
    const plan = await chainOfProducts(size, 400);
    const x = uniform(2, size * size);
    const controller = new AbortController();
    const { y } = plan.run({ x }, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 20);
    await expect(y!.data()).rejects.toThrow("enough");
    expect(backend.counters.ops.matmul ?? 0).toBeLessThan(200);
    expect(backend.counters.submits).toBe(0);
    const short = await chainOfProducts(16, 1);
    expect((await short.run({ x: uniform(2, 256) }).y!.data()).every((value) => Number.isFinite(value))).toBe(true);
  });
});

describe("short runs, which are computed within the call", () => {
  const sum = () => {
    const program = createProgram();
    const [a, b] = [program.input("a", "f32", [3]), program.input("b", "f32", [3])];
    program.output("device", program.add(a, b), { to: "device" });
    program.output("host", program.mul(a, b));
    return program;
  };

  test("accept inputs from any backend and return ordinary handles", async () => {
    const plan = await backend.compile(sum());
    const values = () => new Float32Array([1, 2, 3]);
    const [uploaded, host] = [backend.upload({ dtype: "f32", shape: [3] }, values()), hostTensor({ dtype: "f32", shape: [3] }, values())];
    const counters = structuredClone(backend.counters);
    // The first run is recorded.
    for (let run = 0; run < 3; run++) {
      for (const a of [values(), uploaded, host]) {
        const b = values();
        const outputs = plan.run({ a, b });
        b.fill(0);
        expect(await outputs.device!.data()).toEqual(new Float32Array([2, 4, 6]));
        expect(await outputs.host!.data()).toEqual(new Float32Array([1, 4, 9]));
        for (const output of Object.values(outputs)) output.dispose();
      }
    }
    expect(backend.counters.submits - counters.submits).toBe(9);
    expect(backend.counters.readbacks - counters.readbacks).toBe(9);
    expect((backend as WasmBackend).isBusy).toBe(false);
  });

  test("wait for earlier calls and for pending inputs", async () => {
    const [plan, long] = [await backend.compile(sum()), await chainOfProducts(256, 4)];
    const ones = new Float32Array(3).fill(1);
    await plan.run({ a: ones, b: ones }).host!.ready();
    const order: string[] = [];
    const first = long.run({ x: uniform(2, 256 * 256) }).y!;
    const second = plan.run({ a: ones, b: ones }).device!;
    const third = plan.run({ a: second, b: ones }).device!;
    await Promise.all([third.ready().then(() => order.push("third")), first.ready().then(() => order.push("first"))]);
    expect(order).toEqual(["first", "third"]);
    expect(await third.data()).toEqual(new Float32Array(3).fill(3));
  });

  test("reject their handles on failure and free their memory", async () => {
    const trap: CustomOp = {
      name: "trap",
      inputs: ["x"],
      infer: ([x]) => x!,
      reference: () => undefined,
      wasm: {
        module({ shared }) {
          const module = new ModuleBuilder({ shared });
          module.function("run", { x: "i32", y: "i32" }, (f) => f.store(i32.const(-4), v128.zero()));
          return module.build();
        },
      },
    };
    const program = createProgram();
    program.output("y", program.custom(trap, [program.input("x", "f32", [3])]), { to: "device" });
    const plan = await backend.compile(program);
    for (let run = 0; run < 3; run++) {
      const { y } = plan.run({ x: new Float32Array(3) });
      await expect(y!.data()).rejects.toThrow(/out of bounds/);
      y!.dispose();
    }
    expect(backend.memory().tensors).toBe(0);
  });
});

describe("memory", () => {
  test("every byte of WASM memory is accounted for and freed", async () => {
    const before = backend.memory();
    const plan = await chainOfProducts(64, 3);
    const during = backend.memory();
    expect(during.persistents).toBeGreaterThanOrEqual(64 * 64 * 4);
    expect(during.arenas).toBeGreaterThanOrEqual(2 * 64 * 64 * 4);
    plan.dispose();
    await backend.idle();
    const { persistents, arenas, tensors } = backend.memory();
    expect({ persistents, arenas, tensors }).toEqual({ persistents: before.persistents, arenas: before.arenas, tensors: before.tensors });
  });

  test("a plan that is too large raises a typed error with sizes, and the backend continues", async () => {
    const small = await wasm({ maxMemoryMiB: 8 }).open();
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [4 << 20])));
    const error = await small.compile(program).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({ requested: 32 << 20, device: "wasm" });
    expect((error as OutOfMemoryError).free).toBeLessThan(8 << 20);
    expect(small.memory()).toMatchObject({ persistents: 0, arenas: 0, tensors: 0 });
    const tensor = small.upload({ dtype: "f32", shape: [4] }, Float32Array.of(1, 2, 3, 4));
    expect(await tensor.data()).toEqual(Float32Array.of(1, 2, 3, 4));
    await small.dispose();
  });

  test("addresses above 2 GiB give the same results", async () => {
    const low = await wasm().open();
    const high = await wasm().open();
    // Reserves address space only: the pages are never touched.
    (high as WasmBackend).heap.alloc(2 ** 31 + 2 ** 20, "other");
    const [tokens, k, n] = [9, 256, 37];
    const results = [];
    for (const on of [low, high]) {
      const program = createProgram();
      const x = program.input("x", "f32", [tokens, k]);
      const w = program.persistent("w", { dtype: "q4_0", shape: [n, k] });
      const b = program.persistent("b", { dtype: "f32", shape: [k, n] });
      for (const activations of ["ggml", "f32"] as const) {
        const y = program.matmul(x, w, { transposeB: true, activations });
        program.output(activations, program.softmax(program.add(y, program.gelu(program.matmul(x, b)))));
      }
      program.output("best", program.argmax(x, { axis: 0 }));
      program.output("sum", program.sum(program.embedding(w, program.input("ids", "i32", [2])), { axis: 0 }));
      const plan = await on.compile(program);
      await plan.load("w", sourceOf(contentsOf({ dtype: "q4_0", shape: [n, k] }, 1).stored));
      await plan.load("b", sourceOf(uniform(2, k * n)));
      results.push(plan.runSync!({ x: uniform(3, tokens * k), ids: Int32Array.of(36, 3) }));
    }
    expect(results[1]).toEqual(results[0]);
    await Promise.all([low.dispose(), high.dispose()]);
  });

  test("the heap reuses and merges what was freed", () => {
    const heap = new Heap(new WebAssembly.Memory({ initial: 8, maximum: 64 }), 64);
    const [a, b, c] = [heap.alloc(1000, "other"), heap.alloc(2000, "other"), heap.alloc(3000, "other")];
    expect([a % 64, b % 64, c % 64]).toEqual([0, 0, 0]);
    heap.free(a);
    heap.free(b);
    expect(heap.alloc(3000, "tensors")).toBe(a);
    expect(heap.used("other")).toBe(3072);
    expect(() => heap.free(b)).toThrow(/allocated address/);
    const used = heap.alloc(1 << 19, "other");
    heap.u8.fill(255, 0, used + (1 << 19));
    heap.free(used);
    // Half of it was used before, half was not.
    const zeroed = heap.allocZeroed(1 << 20, "tensors");
    expect(zeroed).toBe(used);
    expect(heap.u8.subarray(zeroed, zeroed + (1 << 20)).every((byte) => byte === 0)).toBe(true);
    expect(() => heap.alloc(4 << 20, "other")).toThrow(OutOfMemoryError);
  });
});

describe("weights in formats without kernels", () => {
  test.each(["tq1_0", "iq2_xs"] as const)("%s: converted with a warning, and saved byte for byte", async (dtype) => {
    const program = createProgram();
    const w = program.persistent("w", { dtype, shape: [8, 256] });
    program.output("y", program.matmul(program.input("x", "f32", [1, 256]), w, { transposeB: true }));
    const plan = await backend.compile(program);
    expect(plan.warnings).toEqual([
      expect.stringMatching(
        `^wasm: 1 weight of ${dtype} held as 8-bit integers .*, having no kernel of its own: [\\d.]+ KiB in place of [\\d.]+ (bytes|KiB)$`,
      ),
    ]);
    const { stored } = contentsOf({ dtype, shape: [8, 256] }, 3);
    await plan.load("w", sourceOf(stored));
    expect(await plan.save("w")).toEqual(stored);
  });
});

test("options are checked", () => {
  expect(() => wasm({ relaxed: "yes" as "auto" })).toThrow(/relaxed to be true or false or "auto", got "yes"/);
  expect(() => wasm({ maxMemoryMiB: 20_000 })).toThrow(/1 to 16384/);
  expect(() => wasm({ memory64: 1 } as object)).toThrow(/memory64 to be true or false or "auto", got 1/);
  expect(() => wasm({ workers: 2 } as object)).toThrow(
    /options among \{relaxed, threads, sync, maxMemoryMiB, memory64, checkWrites, module, kernelCache\}, got workers/,
  );
});

describe("large outputs that stay on the backend", () => {
  const n = 40_000;
  const xs = uniform(3, n);
  const tensorBytes = (): number => backend.memory().tensors;

  async function relus(): Promise<Plan> {
    const program = createProgram();
    const rows = program.dim("rows", 2 * n);
    program.output("y", program.relu(program.input("x", "f32", [rows])), { to: "device" });
    return backend.compile(program);
  }

  test("each run has its own output, and disposing of it frees the memory", async () => {
    const plan = await relus();
    const before = tensorBytes();
    const kept = [1, -1, 2].map((factor) => plan.run({ x: xs.map((x) => factor * x) }).y!);
    plan.run({ x: xs }).y!.dispose();
    const [plus, minus, twice] = await Promise.all(kept.map((y) => y.data()));
    expect(plus).toEqual(xs.map((x) => Math.max(0, x)));
    expect(minus).toEqual(xs.map((x) => Math.max(0, -x)));
    expect(twice).toEqual(xs.map((x) => Math.max(0, 2 * x)));
    const late = plan.run({ x: xs.subarray(0, n / 2) }).y!;
    void late.ready().finally(() => late.dispose());
    expect((await plan.run({ x: late }).y!.data()).length).toBe(n / 2);
    await backend.idle();
    for (const y of kept) y.dispose();
    expect(tensorBytes() - before).toBeLessThan(3 * n);
  });

  test("an aborted run frees everything", async () => {
    const program = createProgram();
    const w = program.input("w", "f32", [700, 700]);
    program.output("y", program.matmul(program.matmul(w, w), w), { to: "device" });
    const plan = await backend.compile(program);
    const before = tensorBytes();
    const controller = new AbortController();
    const { y } = plan.run({ w: uniform(1, 490_000) }, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 3);
    await expect(y!.ready()).rejects.toThrow("enough");
    expect(tensorBytes()).toBe(before);
  });

  test("two views of one result are two tensors", async () => {
    const program = createProgram();
    const y = program.relu(program.input("x", "f32", [n]));
    program.output("flat", y, { to: "device" });
    program.output("square", program.reshape(y, { shape: [200, 200] }), { to: "device" });
    const { flat, square } = (await backend.compile(program)).run({ x: xs });
    await flat!.ready();
    flat!.dispose();
    expect(await square!.data()).toEqual(xs.map((x) => Math.max(0, x)));
  });
});
