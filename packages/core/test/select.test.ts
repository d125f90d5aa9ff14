import { beforeAll, describe, expect, test } from "vitest";
import {
  type Backend,
  type Candidate,
  createProgram,
  ops,
  type Policy,
  select,
  selectForProgram,
  type Thresholds,
  UnsupportedError,
} from "../src/index.ts";
import { fakeBackend } from "./support/fakeBackend.ts";

const f32 = (...shape: number[]) => ({ dtype: "f32", shape }) as const;
const thresholds: Thresholds = {
  gpu: {
    matmul: { min: 1e6, unit: "flops" },
    default: { min: Number.POSITIVE_INFINITY, unit: "bytes" },
    program: { min: 1e6, unit: "flops" },
  },
  copier: { default: { min: 1000, unit: "bytes" } },
};

let gpu: Backend;
let cpu: Backend;
let software: Backend;
let candidates: readonly Candidate[];

beforeAll(async () => {
  gpu = await fakeBackend({
    name: "gpu",
    device: { kind: "gpu", name: "Fast 9000" },
    unsupported: ({ name }) => (name === "conv2d" ? "no conv2d kernel" : undefined),
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
  select(ops.matmul, [f32(n, n), f32(n, n)], ops.matmul.defaults, residency, candidates, thresholds, policy);

describe("select", () => {
  test("large work goes to the first that pays, small work to the next, each with reasons", () => {
    const large = matmul(100, ["host"]);
    expect(large.backend.name).toBe("gpu");
    expect(large.rejected).toEqual([
      "absent: no such library",
      "soft: SwiftShader is a software adapter, slower than wasm; force it to use it",
    ]);
    const small = matmul(50, ["host"]);
    expect(small.backend.name).toBe("cpu");
    expect(small.rejected.at(-1)).toBe("gpu: 250,000 flops < 1.0e+6, the crossover for matmul");
  });

  test("data that lives on a device has no transfer to repay", () => {
    expect(matmul(2, ["gpu", "host"]).backend.name).toBe("gpu");
    expect(matmul(2, ["cpu"]).backend.name).toBe("cpu");
  });

  test("an op without a threshold of its own takes the default", () => {
    const { backend, rejected } = select(ops.relu, [f32(1e6)], {}, ["host"], candidates, thresholds);
    expect([backend.name, rejected.at(-1)]).toEqual(["cpu", "gpu: relu on host data never repays the transfer"]);
  });

  test("thresholds may count bytes; at the limit it pays", () => {
    const copier: readonly Candidate[] = [
      { name: "copier", backend: gpu },
      { name: "cpu", backend: cpu },
    ];
    const nameFor = (n: number) => select(ops.relu, [f32(n)], {}, ["host"], copier, thresholds).backend;
    expect(nameFor(125)).toBe(gpu);
    expect(nameFor(124)).toBe(cpu);
  });

  test("a backend without a kernel is passed over with its reason", () => {
    const params = ops.conv2d.defaults;
    const { backend, rejected } = select(ops.conv2d, [f32(8, 64, 64, 64), f32(64, 64, 3, 3)], params, ["host"], candidates, thresholds);
    expect([backend.name, rejected.at(-1)]).toEqual(["cpu", "gpu: no conv2d kernel"]);
  });

  test("nobody can: every reason is in the error", () => {
    const work = () => select(ops.dot, [f32(4), f32(4)], {}, ["host"], candidates, thresholds);
    expect(work).toThrow(UnsupportedError);
    expect(work).toThrow(/dot: unsupported: no backend can run it \(absent: no such library; soft: .*; gpu: .*; cpu: no dot kernel\)/);
    expect(() => select(ops.dot, [f32(4), f32(4)], {}, [], [], thresholds)).toThrow(/none was given/);
  });

  test("force takes that backend alone, whatever the thresholds and the adapter", () => {
    expect(matmul(2, ["host"], { force: "gpu" })).toMatchObject({ reason: "forced", backend: { name: "gpu" } });
    expect(matmul(2, ["host"], { force: "soft" }).backend).toBe(software);
    expect(() => matmul(2, ["host"], { force: "absent" })).toThrow(/absent: no such library/);
    expect(() => select(ops.dot, [f32(4), f32(4)], {}, [], candidates, thresholds, { force: "cpu" })).toThrow(/cpu: no dot kernel/);
    expect(() => matmul(2, ["host"], { force: "tpu" })).toThrow(/unknown backend tpu; use one of absent, soft, gpu, cpu/);
  });

  test("software adapters compete when allowed", () => {
    expect(matmul(2, ["host"], { allowSoftware: true }).backend).toBe(software);
  });

  test("wrong arguments are refused before any backend is asked", () => {
    expect(() => select(ops.matmul, [f32(2, 3), f32(2, 3)], ops.matmul.defaults, [], candidates, thresholds)).toThrow(/inner|expected a/);
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
    expect(selectForProgram(program(100, "relu"), candidates, thresholds).backend.name).toBe("gpu");
    const small = selectForProgram(program(10, "relu"), candidates, thresholds);
    expect([small.backend.name, small.rejected.at(-1)]).toEqual(["cpu", "gpu: 2,100 flops < 1.0e+6, the crossover for program"]);
  });

  test("every op needs a kernel", () => {
    expect(() => selectForProgram(program(4, "dot"), candidates, thresholds)).toThrow(/cpu: cpu: dot: unsupported: no dot kernel/);
  });
});
