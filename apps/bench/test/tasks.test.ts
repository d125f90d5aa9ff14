import { reference } from "@centella/core";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../../../packages/backend-cuda/src/backend.ts";
import { InterpretedDriver } from "../../../packages/backend-cuda/test/interpreter/interpretedDriver.ts";
import { measureGpuCopy } from "../src/ceilings/gpu.ts";
import { type CeilingKernels, ceilingModule, dotKernels, dotOps, fmaFlops, hasRelaxedSimd, streamBytes } from "../src/ceilings/kernels.ts";
import { type Ceiling, fasterCeilings } from "../src/ceilings/measure.ts";
import { Threads } from "../src/ceilings/threads.ts";
import type { Job } from "../src/ceilings/worker.ts";
import { onnxModel } from "../src/peers/onnxModel.ts";
import { scalar } from "../src/peers/scalar.ts";
import { measureRows, type Settings } from "../src/runner/measure.ts";
import { Skip } from "../src/runner/subject.ts";
import { ours } from "../src/tasks/ours.ts";
import { inputsOf, outputShape, sizeOf, type Task } from "../src/tasks/task.ts";
import { verifyTask } from "../src/tasks/verifyTask.ts";
import { taskRow, workOf } from "../src/tasks/work.ts";

const tasks: readonly Task[] = [
  { kind: "matmul", m: 7, k: 33, n: 20, hasWeights: false },
  { kind: "matmul", m: 5, k: 64, n: 31, hasWeights: true },
  { kind: "quantMatmul", type: "q4_0", m: 3, k: 256, n: 40 },
  { kind: "quantMatmul", type: "q4_K", m: 1, k: 512, n: 16 },
  { kind: "quantMatmul", type: "q6_K", m: 2, k: 256, n: 16 },
  { kind: "op", op: "add", shape: [100] },
  { kind: "op", op: "mul", shape: [100] },
  { kind: "op", op: "relu", shape: [100] },
  { kind: "op", op: "sigmoid", shape: [100] },
  { kind: "op", op: "max", shape: [1000] },
  { kind: "op", op: "min", shape: [1000] },
  { kind: "op", op: "gelu", shape: [100] },
  { kind: "op", op: "softmax", shape: [5, 40] },
  { kind: "op", op: "sum", shape: [1000] },
  { kind: "op", op: "dot", shape: [1000] },
  { kind: "op", op: "layerNorm", shape: [5, 40] },
  { kind: "chain", length: 10, n: 50 },
  { kind: "series", op: "add", count: 3, n: 50 },
  { kind: "series", op: "relu", count: 3, n: 50 },
  { kind: "series", op: "sum", count: 3, n: 50 },
  { kind: "series", op: "max", count: 3, n: 50 },
  { kind: "series", op: "dot", count: 3, n: 50 },
];

const settings: Settings = { passes: 2, rounds: 1, sampleSeconds: 0, warmupSeconds: 0, warmupCalls: 1 };

describe("tasks", () => {
  test.each(tasks.map((task) => [JSON.stringify(task), task] as const))(
    "%s on the reference is right, an altered result is wrong",
    async (_name, task) => {
      const backend = await reference().open();
      try {
        const subject = await ours(backend, 1).prepare(task, 2);
        const result = await subject.result();
        expect(verifyTask(task, result!, "ours")).toBeUndefined();
        for (const at of [0, result!.length - 1]) {
          const altered = Array.from(result!);
          altered[at] = altered[at]! + 0.2 * Math.sqrt(sizeOf(task.kind === "op" ? task.shape : [1])) + 0.1;
          expect(verifyTask(task, altered, "ours")).toMatch(/expected/);
          altered[at] = Number.NaN;
          expect(verifyTask(task, altered, "ours")).toMatch(/expected/);
        }
        await subject.dispose();
      } finally {
        await backend.dispose();
      }
    },
  );

  test.each(tasks.filter(({ kind }) => kind !== "quantMatmul").map((task) => [JSON.stringify(task), task] as const))(
    "%s in the scalar baseline is right",
    async (_name, task) => {
      const { competitor } = await scalar.open({ threads: 1 });
      const subject = await competitor!.prepare(task, 2);
      expect(verifyTask(task, (await subject.result())!, "peer")).toBeUndefined();
      expect(await subject.sample(3, 0)).toBeGreaterThan(0);
      await subject.dispose();
    },
  );

  test("a result of the wrong length is wrong", () => {
    expect(verifyTask({ kind: "op", op: "add", shape: [100] }, new Float32Array(99), "ours")).toMatch(/expected 100 elements, got 99/);
  });

  test("inputs differ by buffer set and operand and are never zero", () => {
    const [first, second] = [inputsOf(tasks[0]!, 0), inputsOf(tasks[0]!, 1)];
    expect(first[0]).not.toEqual(second[0]);
    expect(first[0]!.slice(0, 20)).not.toEqual(first[1]!.slice(0, 20));
    expect([...first[0]!].every((value) => value !== 0 && Math.abs(value) <= 1)).toBe(true);
  });

  test("the scalar reference leaves work out that would take minutes", async () => {
    const backend = await reference().open();
    await expect(ours(backend, 1).prepare({ kind: "matmul", m: 1024, k: 1024, n: 1024, hasWeights: false }, 1)).rejects.toThrow(Skip);
    await backend.dispose();
  });

  test("rows that claim memory speed rotate buffers larger than the cache, and all other rows say that they measure the cache", () => {
    const task: Task = { kind: "op", op: "add", shape: [2 ** 20] };
    const memory = taskRow(task, [], { id: "a", metric: "GB/s", bound: "copy" }, 2 ** 28);
    expect(memory).toMatchObject({ data: "memory", bound: "copy", isLarge: true });
    const asked: number[] = [];
    const spy = {
      name: "spy",
      side: "ours" as const,
      threads: 1,
      prepare: async (_task: Task, sets: number) => {
        asked.push(sets);
        throw new Skip("spy");
      },
    };
    const row = taskRow(task, [spy], { id: "a", metric: "GB/s", bound: "copy" }, 2 ** 28);
    return row.contestants[0]!.prepare().catch(() => {
      expect(asked[0]! * workOf(task).bytes!).toBeGreaterThanOrEqual(2 ** 28);
      expect(taskRow(task, [], { id: "a", metric: "GB/s", bound: "copy" }, undefined)).toMatchObject({ data: "cache", bound: "none" });
    });
  });

  test("run through the runner on the reference", async () => {
    const backend = await reference().open();
    const rows = tasks.map((task, i) => taskRow(task, [ours(backend, 1)], { id: String(i), metric: "µs", bound: "none" }, undefined));
    const measured = await measureRows(rows, settings);
    expect(measured.flatMap(({ outcomes }) => outcomes.map(({ outcome }) => outcome.status))).toEqual(tasks.map(() => "measured"));
    await backend.dispose();
  });

  test("have the shapes of their ops", () => {
    expect(outputShape(tasks[0]!)).toEqual([7, 20]);
    expect(outputShape({ kind: "op", op: "sum", shape: [9] })).toEqual([]);
  });
});

test("of ceilings that were measured twice the faster one counts, each for itself", () => {
  const ceiling = (kind: Ceiling["kind"], threads: number, seconds: number): Ceiling => ({ kind, threads, work: 1, samples: [[seconds]] });
  const [slow, fast] = [ceiling("flops", 1, 2), ceiling("flops", 1, 1)];
  const [read, reread] = [ceiling("read", 2, 1), ceiling("read", 2, 3)];
  expect(fasterCeilings([slow, read], [fast, reread])).toEqual([fast, read]);
  expect(fasterCeilings([fast], [slow, read])).toEqual([fast]);
});

describe("ceiling kernels", () => {
  const kernels = (relaxed = hasRelaxedSimd()) => {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(ceilingModule(relaxed)), { env: { memory } });
    return { memory, exports: exports as Record<keyof CeilingKernels, (...args: number[]) => number> };
  };

  test("validate without relaxed SIMD too", () => {
    expect(WebAssembly.validate(ceilingModule(false))).toBe(true);
  });

  test("multiply and add as often as they say: each step brings the accumulators nearer to 1 by the same factor", () => {
    const { exports } = kernels();
    // Twelve accumulators start at 1 + i / 16, summed 66 / 16 above 12; four steps of a factor 0.9375 an iteration.
    const after = (iterations: number): number => 12 + (66 / 16) * 0.9375 ** (4 * iterations);
    expect(exports.fma(1)).toBeCloseTo(after(1), 4);
    expect(exports.fma(5)).toBeCloseTo(after(5), 4);
    expect(fmaFlops).toBe(12 * 4 * 4 * 2);
  });

  test.each([false, ...(hasRelaxedSimd() ? [true] : [])])("add as many products of bytes as they say, relaxed: %s", (relaxed) => {
    const { exports } = kernels(relaxed);
    const halves = (x: number): readonly number[] => [(x << 16) >> 16, x >> 16];
    const bytes = (x: number): readonly number[] => [(x << 24) >> 24, (x << 16) >> 24, (x << 8) >> 24, x >> 24];
    // One step of a lane: bytes of 3 and 5 for x and y, an accumulator starts as its number in each byte.
    const steps = {
      dotQuads: (lane: number) => lane + 4 * 3 * 5,
      dotWide: (lane: number) => lane + 0x0505 * (halves(lane)[0]! + halves(lane)[1]!),
      dotPairs(lane: number) {
        const [a, b, c, d] = bytes(lane) as [number, number, number, number];
        const [low, high] = halves(lane) as [number, number];
        return ((low + 5 * (a + b)) & 0xffff) | ((high + 5 * (c + d)) << 16);
      },
    };
    for (const name of dotKernels(relaxed)) {
      const after = (iterations: number): number => {
        let sum = 0;
        for (let i = 0; i < 12; i++) {
          let lane = i * 0x01010101;
          for (let step = 0; step < 4 * iterations; step++) lane = steps[name](lane) | 0;
          sum = (sum + lane) | 0;
        }
        return sum;
      };
      expect(exports[name](1), name).toBe(after(1));
      expect(exports[name](3), name).toBe(after(3));
      expect(dotOps[name]).toBe(12 * 4 * 2 * (name === "dotWide" ? 8 : 16));
    }
  });

  test("read and copy every byte and no other", () => {
    const { memory, exports } = kernels();
    const words = new Int32Array(memory.buffer);
    words.fill(1);
    expect(exports.read(0, 4 * streamBytes)).toBe(streamBytes / 4);
    words.fill(0);
    words.fill(7, 0, streamBytes / 2);
    exports.copy(0, 4096, 2 * streamBytes);
    expect([...words.subarray(1024, 1024 + streamBytes / 2)].every((word) => word === 7)).toBe(true);
    expect(words[1023]).toBe(0);
    expect(words[1024 + streamBytes / 2]).toBe(0);
  });
});

test("an ONNX model is valid protobuf of the expected size", () => {
  const bytes = onnxModel({
    inputs: { x: [2, 300] },
    outputs: { y: [2, 300] },
    initializers: [],
    nodes: [{ op: "Identity", inputs: ["x"], output: "y" }],
  });
  // ir_version 9, then opset imports and the graph: three length-delimited fields that end where the bytes end.
  expect([...bytes.subarray(0, 2)]).toEqual([8, 9]);
  let at = 2;
  const fields: number[] = [];
  while (at < bytes.length) {
    fields.push(bytes[at]! >> 3);
    at += 2 + bytes[at + 1]!;
  }
  expect(at).toBe(bytes.length);
  expect(fields).toEqual([8, 8, 7]);
});

test("ceiling threads start together and come back, whichever of them sat runs out", async () => {
  const threads = await Threads.open(3, new WebAssembly.Module(ceilingModule(hasRelaxedSimd())));
  try {
    for (let run = 0; run < 300; run++) {
      const jobs = Array.from({ length: 1 + ((run * 7) % 3) }, (): Job => ({ kernel: "fma", args: [1] }));
      expect(threads.run(jobs)).toBeGreaterThanOrEqual(0);
    }
  } finally {
    await threads.dispose();
  }
});

test("the copy ceiling of a device counts bytes read and written", async () => {
  const backend = new CudaBackend(new InterpretedDriver());
  const software = Object.assign(backend, { device: { kind: "software-gpu", name: "interpreter" } });
  const { work, samples } = await measureGpuCopy(software);
  expect(work).toBe(8 * 2 ** 20);
  expect(samples.flat()).toHaveLength(10);
  expect(Math.min(...samples.flat())).toBeGreaterThan(0);
  await backend.dispose();
});

test("a backend in the host's memory has no copy ceiling of a GPU", async () => {
  const backend = await reference().open();
  await expect(measureGpuCopy(backend)).rejects.toThrow("ceiling: expected a device with memory of its own, got reference");
  await backend.dispose();
});
