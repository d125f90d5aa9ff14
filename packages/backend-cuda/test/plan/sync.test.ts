import { sourceOf, uniform } from "@centella/conformance";
import {
  ArgumentError,
  type Backend,
  createProgram,
  createRuntime,
  DeviceLostError,
  DisposedError,
  KernelError,
  OutOfMemoryError,
  type Plan,
  ProgramError,
  reference,
} from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { beforeEach, describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { DriverError } from "../../src/device/driver.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

let driver: InterpretedDriver;
let backend: CudaBackend;
beforeEach(() => {
  driver = new InterpretedDriver();
  backend = new CudaBackend(driver);
});

const factory = { name: "cuda", open: async (): Promise<Backend> => backend };
const forced = { backends: [factory], policy: { force: "cuda" } } as const;

/** Counts its runs in `n`, which it gives to the host and on the device. */
function counter(): ProgramGraph {
  const program = createProgram();
  const n = program.persistent("n", { dtype: "f32", shape: [1] }, { init: "zeros" });
  const next = program.add(n, program.input("by", "f32", [1]));
  program.assign(n, next);
  program.output("n", next);
  program.output("kept", program.scale(next, { by: 10 }), { to: "device" });
  return program;
}

const one = Float32Array.of(1);
const busy = /expected no work under way on this backend, got some that is queued; await backend\.idle\(\) first/;

describe("runtime.sync", () => {
  test("computes on the device within the call, like the reference", async () => {
    await using runtime = await createRuntime(forced);
    await using exact = await createRuntime({ backends: [reference()] });
    const a = runtime.tensor(uniform(1, 21), [3, 7]);
    const b = runtime.tensor(uniform(2, 35), [7, 5]);
    const row = runtime.tensor(uniform(3, 5));
    const results = [runtime, exact].map(({ sync }) => sync.tanh(sync.add(sync.matmul(a, b), row)).dataSync());
    expect(results[0]!.length).toBe(15);
    results[0]!.forEach((value, i) => void expect(value).toBeCloseTo(Number(results[1]![i]), 6));
    expect(runtime.counters.cuda!.ops).toMatchObject({ matmul: 1, add: 1, tanh: 1 });
    expect(driver.submitted.graphs).toBe(3);
  });

  test("takes tensors of the device, once nothing is under way", async () => {
    await using runtime = await createRuntime(forced);
    const a = runtime.tensor(Float32Array.of(1, -2));
    const y = await runtime.scale(a, { by: 3 });
    expect(y.device).toBe("cuda");
    expect(() => y.dataSync()).toThrow(/on cuda: expected its content to be at hand, got one to wait for; await data\(\)/);
    expect(() => runtime.sync.neg(a)).toThrow(busy);
    await y.ready();
    expect([...runtime.sync.neg(y).dataSync()]).toEqual([-3, 6]);
    expect([...y.dataSync()]).toEqual([3, -6]);
    // Nothing holds a freed tensor's memory, and freeing it does not count as work under way.
    y.dispose();
    expect(backend.memory().tensors).toBe(0);
    expect([...runtime.sync.neg(a).dataSync()]).toEqual([-1, 2]);
  });

  test("a tensor whose run failed has no content", async () => {
    await using runtime = await createRuntime(forced);
    driver.finished = async () => {
      throw new DriverError(719, "CUDA_ERROR_LAUNCH_FAILED", "cuEventSynchronize");
    };
    const later = await runtime.relu(runtime.tensor(one));
    await expect(later.ready()).rejects.toThrow(DeviceLostError);
    expect(() => later.dataSync()).toThrow(ProgramError);
    expect(() => runtime.sync.relu(runtime.tensor(one))).toThrow(DeviceLostError);
  });
});

describe("runSync", () => {
  test("runs in order with awaited runs, and gives device outputs too", async () => {
    const plan = await backend.compile(counter());
    const first = plan.run({ by: one });
    expect(() => plan.runSync!({ by: one })).toThrow(ProgramError);
    expect(() => plan.runSync!({ by: one })).toThrow(busy);
    expect(() => backend.compileSync(counter())).toThrow(busy);
    await backend.idle();
    expect(plan.runSync!({ by: Float32Array.of(2) })).toEqual({ n: Float32Array.of(3), kept: Float32Array.of(30) });
    const third = plan.run({ by: one });
    expect(await Promise.all([first.n!.data(), first.kept!.data(), third.n!.data()])).toEqual([1, 10, 4].map((n) => Float32Array.of(n)));
    expect(plan.runSync!({ by: one }).n).toEqual(Float32Array.of(5));
    expect(await plan.save("n")).toEqual(Float32Array.of(5));
    plan.reset("n");
    expect(() => plan.runSync!({ by: one })).toThrow(busy);
    await backend.idle();
    expect(plan.runSync!({ by: one }).n).toEqual(one);
  });

  test("work that is on the device already is not overtaken", async () => {
    const plan = await backend.compile(counter());
    let arrive = (): void => undefined;
    const finished = driver.finished.bind(driver);
    driver.finished = () => new Promise<void>((resolve) => (arrive = resolve)).then(finished);
    const { n } = plan.run({ by: one });
    while (backend.counters.submits === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(() => plan.runSync!({ by: one })).toThrow(busy);
    arrive();
    expect(await n!.data()).toEqual(one);
    expect(plan.runSync!({ by: one }).n).toEqual(Float32Array.of(2));
  });

  test("compiles further buckets within the call, constants and block types included", async () => {
    const record = (): ProgramGraph => {
      const program = createProgram();
      const x = program.input("x", "f32", [program.dim("T", 9), 32]);
      const w = program.input("w", "q8_0", [4, 32]);
      program.output(
        "y",
        program.add(program.matmul(x, w, { transposeB: true }), program.constant(Float32Array.of(1, 2, 3, 4), "f32", [4])),
      );
      return program;
    };
    const plan = backend.compileSync(record());
    const scalar = (await reference().open()).compileSync!(record());
    const w = Uint8Array.from({ length: 136 }, (_, i) => (i % 34 === 0 ? 0 : i % 34 === 1 ? 0x2c : i));
    for (const rows of [9, 1, 3, 0, 9]) {
      const [got, want] = [plan, scalar].map((each: Plan) => each.runSync!({ x: uniform(rows, 32 * rows), w }, { dims: { T: rows } }).y!);
      expect(got!.length).toBe(4 * rows);
      got!.forEach((value, i) => void expect(value).toBeCloseTo(Number(want![i]), 4));
    }
    plan.dispose();
    expect(backend.memory()).toMatchObject({ arenas: 0, tensors: 0 });
    await backend.idle();
    expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
  });
});

describe("failures are typed", () => {
  function relu(elements = 4): ProgramGraph {
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [elements])));
    return program;
  }

  test("a kernel that the driver's compiler rejects", () => {
    const loadModuleSync = driver.loadModuleSync.bind(driver);
    driver.loadModuleSync = () => {
      throw new DriverError(218, "CUDA_ERROR_INVALID_PTX", "cuModuleLoadDataEx", "line 7: no");
    };
    expect(() => backend.compileSync(relu())).toThrow(KernelError);
    expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
    driver.loadModuleSync = loadModuleSync;
    expect(backend.compileSync(relu()).runSync!({ x: Float32Array.of(-1, 1, 0, 2) }).y).toEqual(Float32Array.of(0, 1, 0, 2));
  });

  test("no memory", () => {
    expect(() => backend.compileSync(relu(2 ** 29))).toThrow(OutOfMemoryError);
    expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
  });

  test("a lost device fails this call and all later ones, and can be disposed", async () => {
    const plan = backend.compileSync(relu());
    driver.finishedSync = () => {
      throw new DriverError(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cuStreamSynchronize");
    };
    for (let i = 0; i < 2; i++) expect(() => plan.runSync!({ x: new Float32Array(4) })).toThrow(DeviceLostError);
    expect(() => backend.compileSync(relu())).toThrow(DeviceLostError);
    plan.dispose();
    await backend.dispose();
  });

  test("weights that are not loaded, tensors as inputs, and use after dispose", async () => {
    const program = createProgram();
    program.output("y", program.add(program.input("x", "f32", [1]), program.persistent("w", { dtype: "f32", shape: [1] })));
    const plan = backend.compileSync(program);
    expect(() => plan.runSync!({ x: one })).toThrow(/got none for w; call plan\.load\(\) first/);
    await plan.load("w", sourceOf(one));
    expect(plan.runSync!({ x: one }).y).toEqual(Float32Array.of(2));
    const tensor = backend.upload({ dtype: "f32", shape: [1] }, one);
    await tensor.ready();
    expect(() => plan.runSync!({ x: tensor as never })).toThrow(ArgumentError);
    tensor.dispose();
    plan.dispose();
    expect(() => plan.runSync!({ x: one })).toThrow(DisposedError);
    await backend.dispose();
    expect(() => backend.compileSync(relu())).toThrow(DisposedError);
    expect(driver.memory.live).toBe(0);
  });
});
