import { sourceOf } from "@centella/conformance";
import { createProgram, DeviceLostError, DisposedError, KernelError, OutOfMemoryError, type Plan, UnsupportedError } from "@centella/core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { DriverError } from "../../src/device/driver.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

let driver: InterpretedDriver;
let backend: CudaBackend;
beforeEach(() => {
  driver = new InterpretedDriver();
  backend = new CudaBackend(driver);
});

async function layer(): Promise<Plan> {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 20), 4]);
  const w = program.persistent("w", { dtype: "f32", shape: [3, 4] });
  program.output("y", program.relu(program.matmul(x, w, { transposeB: true })));
  const plan = await backend.compile(program);
  await plan.load("w", sourceOf(Float32Array.from({ length: 12 }, (_, i) => i)));
  return plan;
}

test("products with weights below f32 are fastest with halves", () => {
  const types = ["f32", "f16", "bf16", "q8_0", "q4_K"] as const;
  expect(types.map((type) => backend.preferredActivations(type))).toEqual(["f32", "half", "half", "half", "half"]);
});

test("the driver's free memory is the device's", async () => {
  const { free } = driver.memoryInfo();
  expect(backend.deviceMemory()).toEqual({ free });
  const plan = await layer();
  expect(backend.deviceMemory().free).toBeLessThan(free);
  plan.dispose();
});

test("variants of few rows have the scratch memory that they need beyond that of the most rows", async () => {
  const program = createProgram();
  const width = 2 ** 14;
  program.output("y", program.argmax(program.input("x", "f32", [program.dim("T", 600), width]), { axis: 1 }));
  const plan = await backend.compile(program);
  for (const rows of [1, 2, 1]) {
    const x = new Float32Array(rows * width);
    x[width * rows - 5] = 1;
    expect((await plan.run({ x }).y!.data()).at(-1)).toBe(width - 5);
  }
  plan.dispose();
});

describe("a run", () => {
  test("is one copy up and one graph, whose kernels store small results, for any number of kernels", async () => {
    const plan = await layer();
    // The copies of the load are over.
    await backend.idle();
    const before = { ...driver.submitted };
    const outputs = [1, 2, 2, 2, 3, 17].map((rows) => plan.run({ x: new Float32Array(4 * rows).fill(1) }));
    for (const { y } of outputs) expect([...(await y!.data())].slice(0, 3)).toEqual([6, 22, 38]);
    expect(driver.submitted).toEqual({
      graphs: before.graphs + 6,
      launches: before.launches,
      toDevice: before.toDevice + 6,
      fromDevice: before.fromDevice,
    });
    expect(backend.counters).toMatchObject({ uploads: 6, submits: 6, readbacks: 6, ops: { fused: 6 } });
  });

  test("more of them than graphs of a variant give each its own results, also large ones", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 2 ** 15)]);
    const b = program.input("b", "f16", [program.dim("S", 4)]);
    program.output("y", program.neg(x));
    program.output("c", b);
    program.output("first", program.element(x, { index: 0 }));
    const plan = await backend.compile(program);
    for (const length of [1, 3, 2 ** 15]) {
      const halves = Uint16Array.of(1, 2, 3);
      const runs = Array.from({ length: 9 }, (_, i) => plan.run({ x: new Float32Array(length).fill(i), b: halves }));
      for (const [i, { y, c, first }] of runs.entries()) {
        const values = await y!.data();
        expect([values.length, values.at(0), values.at(-1)]).toEqual([length, -i, -i]);
        expect(await c!.data()).toEqual(halves);
        expect(first!.dataSync()).toEqual(Float32Array.of(i));
      }
    }
  });

  test("copies its inputs at the call", async () => {
    const plan = await layer();
    const x = new Float32Array(4).fill(1);
    const { y } = plan.run({ x });
    x.fill(100);
    expect([...(await y!.data())]).toEqual([6, 22, 38]);
  });

  test("takes tensors of the device without a trip to the host", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    program.output("y", program.scale(x, { by: 2 }), { to: "device" });
    const plan = await backend.compile(program);
    let tensor = plan.run({ x: Float32Array.of(1, 2, 3, 4) }).y!;
    for (let i = 0; i < 3; i++) {
      const next = plan.run({ x: tensor }).y!;
      tensor.dispose();
      tensor = next;
    }
    expect([...(await tensor.data())]).toEqual([16, 32, 48, 64]);
    expect(backend.counters).toMatchObject({ uploads: 1, submits: 4, readbacks: 1 });
    tensor.dispose();
    await backend.idle();
    expect(backend.memory().tensors).toBe(0);
  });
});

describe("a profile", () => {
  test("is one graph with timers, all of which are freed", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 20), 300]);
    program.output("best", program.argmax(program.softmax(x)));
    const plan = await backend.compile(program);
    const before = { ...driver.submitted };
    const { steps, total } = await plan.profile({ x: new Float32Array(600).fill(1) });
    // A launch takes a millisecond.
    expect(steps).toMatchObject(["softmax", "argmax"].map((op) => ({ op, launches: 1, microseconds: 1000 })));
    expect(total).toBe(2000);
    const none = await plan.profile({ x: new Float32Array(0) });
    expect(none.steps.map(({ launches, microseconds }) => [launches, microseconds])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(driver.submitted.graphs).toBe(before.graphs + 2);
    expect(driver.submitted.launches).toBe(before.launches);
    expect(driver.liveTimers).toBe(0);
    plan.dispose();
    await backend.idle();
    expect(backend.memory()).toMatchObject({ persistents: 0, arenas: 0, tensors: 0 });
  });

  test("of all steps together has launches alone between its timers, which start early as those of runs", async () => {
    const program = createProgram();
    for (const name of ["a", "b", "c"]) {
      const x = program.persistent(`x${name}`, { dtype: "f32", shape: [1, 256] });
      const w = program.persistent(`w${name}`, { dtype: "q8_0", shape: [16, 256] });
      program.output(name, program.matmul(x, w, { transposeB: true, activations: "half" }), { to: "device" });
    }
    const plan = await backend.compile(program);
    for (const name of ["a", "b", "c"]) {
      await plan.load(`x${name}`, sourceOf(new Float32Array(256)));
      await plan.load(`w${name}`, sourceOf(new Uint8Array(16 * 8 * 34)));
    }
    await backend.idle();
    const recorded: string[] = [];
    const { launch, recordTimer } = driver;
    driver.launch = (command) => {
      recorded.push(command.isDependent ? "launch that starts early" : "launch");
      launch.call(driver, command);
    };
    driver.recordTimer = (timer) => {
      recorded.push("timer");
      recordTimer.call(driver, timer);
    };
    const copies = vi.spyOn(driver, "copyOnDevice");
    await plan.profile({}, { perStep: false });
    expect(recorded).toEqual(["timer", ...Array.from({ length: 3 }, () => "launch that starts early"), "timer"]);
    expect(copies).not.toHaveBeenCalled();
  });

  test("that fails frees its timers", async () => {
    const plan = await layer();
    driver.launchGraph = () => {
      throw new DriverError(1, "CUDA_ERROR_INVALID_VALUE", "cuGraphLaunch");
    };
    await expect(plan.profile({ x: new Float32Array(4) })).rejects.toThrow(/cuGraphLaunch/);
    expect(driver.liveTimers).toBe(0);
  });
});

describe("a run that reads no rows", () => {
  /** Scores `[T, 2000]` of rows of `x`, of which a run reads some, and the largest of each row. */
  async function scores(): Promise<
    (rows: number, read: readonly number[]) => Promise<{ scores: number[]; best: number[]; bytes: number }>
  > {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 20), 4]);
    const y = program.matmul(x, program.input("w", "f32", [2000, 4]), { transposeB: true });
    program.output("scores", program.embedding(y, program.input("readRows", "i32", [program.dim("nRead", 8)])));
    program.output("best", program.argmax(y));
    program.output("most", program.max(y, { axis: -1 }));
    const plan = await backend.compile(program);
    const w = Float32Array.from({ length: 8000 }, (_, i) => (i % 4 === 0 ? i / 4 : 0));
    return async (rows, read) => {
      const before = driver.bytesFromDevice;
      const outputs = plan.run({ x: new Float32Array(4 * rows).fill(1), w, readRows: Int32Array.from(read) });
      const [all, best] = await Promise.all([outputs.scores!.data(), outputs.best!.data(), outputs.most!.data()]);
      return { scores: [...all], best: [...best], bytes: driver.bytesFromDevice - before };
    };
  }

  test("copies no byte of them to the host", async () => {
    const run = await scores();
    const row = Array.from({ length: 2000 }, (_, i) => i);
    expect(await run(1, [])).toEqual({ scores: [], best: [1999], bytes: 0 });
    expect(await run(1, [0])).toMatchObject({ scores: row, best: [1999], bytes: 8008 });
    expect(await run(1, [])).toEqual({ scores: [], best: [1999], bytes: 0 });
    expect(await run(3, [2, 0])).toMatchObject({ scores: [...row, ...row], best: [1999, 1999, 1999] });
  });

  test("launches nothing for results without elements", async () => {
    const run = await scores();
    expect(await run(0, [])).toEqual({ scores: [], best: [], bytes: 0 });
    expect(await run(2, [1])).toMatchObject({ best: [1999, 1999] });
  });
});

test("one value as an output of the host, and of the device", async () => {
  const program = createProgram();
  const y = program.neg(program.input("x", "f32", [2]));
  program.output("first", y);
  program.output("kept", y, { to: "device" });
  program.output("other", program.relu(y));
  const plan = await backend.compile(program);
  const outputs = plan.run({ x: Float32Array.of(1, -2) });
  const values = await Promise.all([outputs.first!, outputs.kept!, outputs.other!].map((tensor) => tensor.data()));
  expect(values.map((each) => [...each])).toEqual([
    [-1, 2],
    [-1, 2],
    [0, 2],
  ]);
});

describe("weights", () => {
  test("of block types keep their stored form", async () => {
    const program = createProgram();
    const w = program.persistent("w", { dtype: "q8_0", shape: [2, 32] });
    program.output("y", program.matmul(program.input("x", "f32", [1, 32]), w, { transposeB: true }));
    const plan = await backend.compile(program);
    expect(plan.warnings).toEqual([]);
    // One unit of 16 rows x 256 weights, and the power of two of its row tile.
    expect(backend.memory().persistents).toBe(4360);
    const stored = Uint8Array.from({ length: 68 }, (_, i) => (i % 34 === 0 ? 0 : i % 34 === 1 ? 0x3c : i));
    await plan.load("w", sourceOf(stored));
    expect(await plan.save("w")).toEqual(stored);
    using y = plan.run({ x: new Float32Array(32).fill(1) }).y!;
    // Scales of 1, and bytes from 2 to 33 and from 36 to 67.
    expect([...((await y.data()) as Float32Array)]).toEqual([560, 1648]);
  });

  test("of block types whose weights share codes are recoded with a warning, and saved as they were", async () => {
    const program = createProgram();
    const w = program.persistent("w", { dtype: "iq2_xxs", shape: [16, 256] });
    program.output("y", program.matmul(program.input("x", "f32", [1, 256]), w, { transposeB: true }));
    const plan = await backend.compile(program);
    expect(plan.warnings).toEqual([
      "cuda: 1 weight of iq2_xxs held as 4-bit codes, having no kernel of its own: 2.26 KiB in place of 1.03 KiB",
    ]);
    const stored = Uint8Array.from({ length: 16 * 66 }, (_, i) => (i % 66 === 0 ? 0 : i % 66 === 1 ? 0x3c : i & 255));
    await plan.load("w", sourceOf(stored));
    expect(await plan.save("w")).toEqual(stored);
  });

  test("as outputs have their stored form, and are refused where they are recoded", async () => {
    const outputOf = (dtype: "q8_0" | "iq2_xxs") => {
      const program = createProgram();
      program.output("w", program.persistent("w", { dtype, shape: [1, 256] }));
      return program;
    };
    const plan = await backend.compile(outputOf("q8_0"));
    const stored = Uint8Array.from({ length: 8 * 34 }, (_, i) => i % 100);
    await plan.load("w", sourceOf(stored));
    using w = plan.run({}).w!;
    expect(await w.data()).toEqual(stored);
    await expect(backend.compile(outputOf("iq2_xxs"))).rejects.toThrow(UnsupportedError);
  });
});

describe("failures", () => {
  test("no memory", async () => {
    const program = createProgram();
    program.output("w", program.persistent("w", { dtype: "f32", shape: [2 ** 29] }));
    const error: unknown = await backend.compile(program).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({ requested: 2 ** 31, free: 2 ** 30, device: "PTX interpreter" });
    await backend.idle();
    expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
  });

  test("a kernel that the driver's compiler rejects", async () => {
    driver.loadModule = async () => {
      throw new DriverError(218, "CUDA_ERROR_INVALID_PTX", "cuModuleLoadDataEx", "line 7: no");
    };
    const error: unknown = await layer().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KernelError);
    expect(error).toMatchObject({
      op: "fused",
      log: expect.stringContaining("line 7: no"),
      source: expect.stringContaining(".entry matmul"),
    });
    expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
  });

  test("a lost device fails what is pending and everything later, and can be disposed", async () => {
    const plan = await layer();
    driver.finished = async () => {
      throw new DriverError(719, "CUDA_ERROR_LAUNCH_FAILED", "cuEventSynchronize");
    };
    const { y } = plan.run({ x: new Float32Array(4) });
    await expect(y!.data()).rejects.toThrow(DeviceLostError);
    expect(() => plan.run({ x: new Float32Array(4) })).toThrow(DeviceLostError);
    await expect(plan.load("w", sourceOf(new Float32Array(12)))).rejects.toThrow(DeviceLostError);
    plan.dispose();
    await backend.dispose();
  });

  test("use after dispose", async () => {
    const plan = await layer();
    plan.dispose();
    expect(() => plan.run({ x: new Float32Array(4) })).toThrow(DisposedError);
    await backend.dispose();
    await backend.dispose();
    await expect(layer()).rejects.toThrow(DisposedError);
    expect(driver.memory.live).toBe(0);
  });
});

test("many buckets keep few variants", async () => {
  const program = createProgram();
  const dims = ["A", "B", "C"].map((name) => program.dim(name, 16));
  program.output("y", program.relu(program.input("x", "f32", dims)));
  const plan = await backend.compile(program);
  const pinned: number[] = [];
  for (let i = 0; i < 125; i++) {
    const extents = [i % 5, Math.floor(i / 5) % 5, Math.floor(i / 25)].map((power) => 2 ** power);
    const [A, B, C] = extents as [number, number, number];
    const { y } = plan.run({ x: new Float32Array(A * B * C).fill(-1) }, { dims: { A, B, C } });
    expect((await y!.data()).length).toBe(A * B * C);
    pinned.push(backend.memory().other);
  }
  expect(pinned[124]).toBeLessThan(10 * 2 ** 20);
  plan.dispose();
  await backend.idle();
  expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
});

test("large devices compute more rows in a run", () => {
  const preferredRows = (multiprocessors: number): number => {
    const driver = new InterpretedDriver();
    return new CudaBackend(Object.assign(driver, { device: { ...driver.device, multiprocessors } })).preferredRows;
  };
  expect([82, 132].map(preferredRows)).toEqual([2048, 4096]);
});
