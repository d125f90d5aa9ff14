import { beforeAll, describe, expect, test } from "vitest";
import type { Backend } from "../src/backend/backend.ts";
import { ArgumentError, createProgram, createRuntime, formatExplanation, type Thresholds, UnsupportedError } from "../src/index.ts";
import { ops } from "../src/ops/index.ts";
import { checkThresholds } from "../src/runtime/checkThresholds.ts";
import { explainRequest } from "../src/runtime/explanation.ts";
import { type Candidate, callRequest, type Policy, select, selectForProgram } from "../src/runtime/select.ts";
import { fakeBackend } from "./support/fakeBackend.ts";

const f32 = (...shape: number[]) => ({ dtype: "f32", shape }) as const;
const thresholds: Thresholds = {
  gpu: {
    matmul: { min: 1e6, unit: "flops" },
    memory: { min: "never", unit: "bytes" },
    compute: { min: 3e6, unit: "flops" },
    program: { min: 1e6, unit: "flops" },
    transfer: { latencyUs: 20, bytesPerUs: 1000 },
  },
  copier: { memory: { min: 1000, unit: "bytes" } },
};

let gpu: Backend;
let cpu: Backend;
let software: Backend;
let candidates: readonly Candidate[];

beforeAll(async () => {
  gpu = await fakeBackend({
    name: "gpu",
    device: { kind: "gpu", name: "Fast 9000" },
    unsupported: ({ name }) => (name === "conv2d" || name === "dot" ? `no ${name} kernel` : undefined),
  });
  cpu = await fakeBackend({ name: "cpu", unsupported: ({ name }) => (name === "dot" ? "no dot kernel" : undefined) });
  software = await fakeBackend({ name: "soft", device: { kind: "software-gpu", name: "SwiftShader" } });
  candidates = [
    { name: "absent", unavailable: "no such library" },
    { name: "soft", backend: software },
    { name: "gpu", backend: gpu },
    { name: "cpu", backend: cpu },
  ];
});

const matmul = (n: number, residency: readonly string[], policy: Policy = {}) =>
  select(ops.matmul, [f32(n, n), f32(n, n)], ops.matmul.defaults, residency, candidates, { thresholds, ...policy });

describe("select", () => {
  test("large work goes to the first backend that repays its costs, small work to the next, with reasons", () => {
    const large = matmul(100, ["host"]);
    expect(large.backend.name).toBe("gpu");
    expect(large.reason).toBe("2,000,000 flops >= 1.0e+6, the crossover for matmul");
    expect(large.rejected).toEqual([
      { backend: "absent", reason: "no such library" },
      { backend: "soft", reason: "SwiftShader is a software adapter, slower than backends for CPUs; force it to use it" },
    ]);
    const small = matmul(50, ["host"]);
    expect(small.backend.name).toBe("cpu");
    expect(small.rejected.at(-1)).toEqual({ backend: "gpu", reason: "250,000 flops < 1.0e+6, the crossover for matmul" });
  });

  test("data that is on the device has no transfer to repay", () => {
    expect(matmul(2, ["gpu", "gpu"])).toMatchObject({ backend: { name: "gpu" }, reason: "its data lives there" });
    expect(matmul(2, ["cpu"]).backend.name).toBe("cpu");
  });

  test("inputs on several devices: the one that is cheaper to move is moved", () => {
    const add = (here: number, elsewhere: number, devices: readonly (string | undefined)[]) =>
      select(ops.add, [f32(here), f32(elsewhere)], {}, devices, candidates, { thresholds });
    // One transfer in either case: 20 µs, plus 1 µs per 1,000 bytes.
    expect(add(1000, 1, ["gpu", "host"])).toMatchObject({
      backend: { name: "gpu" },
      reason: "moving 4 bytes there beats moving 4,000 away",
    });
    expect(add(1000, 1000, ["gpu", "host"]).backend.name).toBe("gpu");
    expect(add(1, 1000, ["gpu", "host"]).backend.name).toBe("cpu");
    expect(add(1, 1000, ["gpu", undefined]).rejected.at(-1)).toEqual({
      backend: "gpu",
      reason: "add on host data never repays the transfer",
    });
    expect(add(1000, 1, ["gpu", "soft"]).backend.name).toBe("gpu");
  });

  test("latency counts once per direction", () => {
    const slow = { gpu: { memory: { min: "never", unit: "bytes" }, transfer: { latencyUs: 1e6, bytesPerUs: 1 } } } as const;
    const { backend } = select(ops.fma, [f32(9), f32(1), f32(1)], {}, ["gpu", "host", "host"], candidates, { thresholds: slow });
    expect(backend.name).toBe("gpu");
  });

  test("a call without inputs has no data on a device", () => {
    const { backend } = select(ops.arange, [], { ...ops.arange.defaults, count: 9 }, [], candidates, { thresholds });
    expect(backend.name).toBe("cpu");
  });

  test("an op without its own threshold takes that of its class", () => {
    const { backend, rejected } = select(ops.relu, [f32(1e6)], {}, ["host"], candidates, { thresholds });
    expect([backend.name, rejected.at(-1)]).toEqual(["cpu", { backend: "gpu", reason: "relu on host data never repays the transfer" }]);
    const image = (size: number) =>
      select(ops.conv1d, [f32(1, 1, size), f32(1, 1, 1)], ops.conv1d.defaults, [], candidates, { thresholds }).backend.name;
    expect([image(1.5e6), image(1.5e6 - 1)]).toEqual(["gpu", "cpu"]);
  });

  test("thresholds may count bytes; work at the threshold is enough", () => {
    const copier: readonly Candidate[] = [
      { name: "copier", backend: gpu },
      { name: "cpu", backend: cpu },
    ];
    const nameFor = (n: number) => select(ops.relu, [f32(n)], {}, ["host"], copier, { thresholds }).backend;
    expect(nameFor(125)).toBe(gpu);
    expect(nameFor(124)).toBe(cpu);
  });

  test("a backend without a kernel is passed over with its reason", () => {
    const params = ops.conv2d.defaults;
    const { backend, rejected } = select(ops.conv2d, [f32(8, 64, 64, 64), f32(64, 64, 3, 3)], params, ["host"], candidates, { thresholds });
    expect([backend.name, rejected.at(-1)]).toEqual(["cpu", { backend: "gpu", reason: "no conv2d kernel" }]);
  });

  test("if no backend can run the call, the error has every reason", () => {
    const work = () => select(ops.dot, [f32(4), f32(4)], {}, ["host"], candidates, { thresholds });
    expect(work).toThrow(UnsupportedError);
    expect(work).toThrow(/dot: unsupported: no backend can run it \(absent: no such library; soft: .*; gpu: .*; cpu: no dot kernel\)/);
    expect(() => select(ops.dot, [f32(4), f32(4)], {}, [], [], { thresholds })).toThrow(/none was given/);
  });

  test("if every capable backend is below its threshold, the last one computes", () => {
    const limits: Thresholds = { ...thresholds, cpu: { compute: { min: 1e6, unit: "flops" } } };
    const specs = [f32(2, 2), f32(2, 2)];
    expect(select(ops.matmul, specs, ops.matmul.defaults, [], candidates, { thresholds: limits })).toEqual({
      backend: cpu,
      reason: "16 flops < 1.0e+6, the crossover for matmul, but no other backend can run it",
      rejected: [
        { backend: "absent", reason: "no such library" },
        { backend: "soft", reason: "SwiftShader is a software adapter, slower than backends for CPUs; force it to use it" },
        { backend: "gpu", reason: "16 flops < 1.0e+6, the crossover for matmul" },
      ],
    });
    const { backend, verdicts } = explainRequest(callRequest(ops.matmul, specs, ops.matmul.defaults, []), candidates, {
      thresholds: limits,
    });
    expect([backend, verdicts.at(-1)]).toEqual([
      "cpu",
      {
        backend: "cpu",
        takes: true,
        reason: "16 flops < 1.0e+6, the crossover for matmul, but no other backend can run it",
        defers: true,
      },
    ]);
    const alone = candidates.filter(({ name }) => name !== "cpu");
    expect(select(ops.relu, [f32(4)], {}, ["host"], alone, { thresholds }).backend).toBe(gpu);
  });

  test("force chooses that backend alone, regardless of thresholds and adapter", () => {
    expect(matmul(2, ["host"], { force: "gpu" })).toMatchObject({ reason: "forced", backend: { name: "gpu" } });
    expect(matmul(2, ["host"], { force: "soft" }).backend).toBe(software);
    expect(() => matmul(2, ["host"], { force: "absent" })).toThrow(/absent: no such library/);
    expect(() => select(ops.dot, [f32(4), f32(4)], {}, [], candidates, { thresholds, force: "cpu" })).toThrow(/cpu: no dot kernel/);
    expect(() => matmul(2, ["host"], { force: "tpu" })).toThrow(/unknown backend tpu; use one of absent, soft, gpu, cpu/);
  });

  test("software adapters compete when allowed", () => {
    expect(matmul(2, ["host"], { allowSoftware: true }).backend).toBe(software);
  });

  test("wrong arguments are refused before any backend is asked", () => {
    expect(() => select(ops.matmul, [f32(2, 3), f32(2, 3)], ops.matmul.defaults, [], candidates, { thresholds })).toThrow(
      /inner|expected a/,
    );
  });
});

describe("selectForProgram", () => {
  const program = (n: number, op: "relu" | "dot") => {
    const recorder = createProgram();
    const x = recorder.matmul(recorder.input("x", "f32", [recorder.dim("T", n), n]), recorder.input("w", "f32", [n, n]));
    recorder.output("y", op === "relu" ? recorder.relu(x) : recorder.dot(recorder.input("v", "f32", [n]), recorder.input("u", "f32", [n])));
    return recorder;
  };

  test("counts the whole program at its maxima", () => {
    expect(selectForProgram(program(100, "relu"), candidates, { thresholds }).backend.name).toBe("gpu");
    const small = selectForProgram(program(10, "relu"), candidates, { thresholds });
    expect([small.backend.name, small.rejected.at(-1)]).toEqual([
      "cpu",
      { backend: "gpu", reason: "2,100 flops < 1.0e+6, the crossover for program" },
    ]);
  });

  test("a small program goes to the last capable backend", () => {
    const alone = candidates.filter(({ name }) => name !== "cpu");
    expect(selectForProgram(program(4, "relu"), alone, { thresholds }).backend).toBe(gpu);
  });

  test("inputs on a device bring the program to that device", () => {
    const devices = (x: string, w: string) => selectForProgram(program(10, "relu"), candidates, { thresholds }, { x, w }).backend.name;
    expect([devices("gpu", "gpu"), devices("host", "gpu"), devices("host", "host")]).toEqual(["gpu", "gpu", "cpu"]);
  });

  test("every op needs a kernel", () => {
    expect(() => selectForProgram(program(4, "dot"), candidates, { thresholds })).toThrow(
      /gpu: dot: no dot kernel; cpu: dot: no dot kernel/,
    );
  });
});

describe("explainRequest", () => {
  test("asks every candidate, including those after the chosen one", () => {
    const request = callRequest(ops.matmul, [f32(50, 50), f32(50, 50)], ops.matmul.defaults, []);
    const explanation = explainRequest(request, candidates, { thresholds });
    expect(explanation).toEqual({
      what: "matmul",
      cost: { flops: 250_000, bytes: 30_000 },
      backend: "cpu",
      verdicts: [
        { backend: "absent", takes: false, reason: "no such library" },
        { backend: "soft", takes: false, reason: "SwiftShader is a software adapter, slower than backends for CPUs; force it to use it" },
        { backend: "gpu", takes: false, reason: "250,000 flops < 1.0e+6, the crossover for matmul", defers: true },
        { backend: "cpu", takes: true, reason: "first choice that can" },
      ],
    });
    expect(
      formatExplanation(explainRequest(request, [...candidates, { name: "last", backend: cpu }], { thresholds })),
    ).toMatchInlineSnapshot(`
      "matmul: 250,000 flops, 30,000 bytes
      backend          reason
      absent   no      no such library
      soft     no      SwiftShader is a software adapter, slower than backends for CPUs; force it to use it
      gpu      no      250,000 flops < 1.0e+6, the crossover for matmul
      cpu      chosen  first choice that can
      last     could   first choice that can
      "
    `);
  });

  test("names no backend if none can run the call", () => {
    const { backend } = explainRequest(callRequest(ops.dot, [f32(4), f32(4)], {}, []), candidates, { thresholds });
    expect(backend).toBeUndefined();
  });
});

describe("thresholds", () => {
  test.each([
    [[], /them to be an object of backends, got \[\]/],
    [{ gpu: 3 }, /gpu to be an object, got 3/],
    [{ gpu: { matmul: 3 } }, /gpu.matmul to be an object, got 3/],
    [{ gpu: { matmull: { min: 1, unit: "flops" } } }, /gpu.matmull to be an op, a class or transfer/],
    [{ gpu: { matmul: { min: -1, unit: "flops" } } }, /gpu.matmul.min to be a number from 0 or "never", got -1/],
    [{ gpu: { matmul: { min: null, unit: "flops" } } }, /got null/],
    [{ gpu: { memory: { min: 1, unit: "elements" } } }, /gpu.memory.unit to be "flops" or "bytes", got "elements"/],
    [{ gpu: { transfer: { latencyUs: -1, bytesPerUs: 1 } } }, /latencyUs to be a number from 0, got -1/],
    [{ gpu: { transfer: { latencyUs: 1, bytesPerUs: 0 } } }, /bytesPerUs to be a number above 0, got 0/],
  ])("%j are refused", async (wrong, message) => {
    expect(() => checkThresholds(wrong as never)).toThrow(message);
    await expect(createRuntime({ backends: [], policy: { thresholds: wrong as never } })).rejects.toThrow(ArgumentError);
  });

  test("the backend's thresholds decide, and the policy replaces single entries", async () => {
    const own: Thresholds[string] = { memory: { min: 1e6, unit: "bytes" }, compute: { min: 1e6, unit: "flops" } };
    const backends = [
      { name: "fast", open: () => Promise.resolve(Object.assign(Object.create(gpu), { name: "fast", thresholds: own }) as Backend) },
    ];
    await using measured = await createRuntime({ backends });
    expect(measured.explain("relu", [f32(100)]).backend).toBe("reference");
    await using runtime = await createRuntime({ backends, policy: { thresholds: { fast: { memory: { min: 100, unit: "bytes" } } } } });
    expect(runtime.explain("relu", [f32(100)]).backend).toBe("fast");
    expect(runtime.explain("relu", [f32(1)]).backend).toBe("reference");
    expect(runtime.explain("matmul", [f32(10, 10), f32(10, 10)]).backend).toBe("reference");
  });
});
