import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BackendFactory, reference, UnsupportedError } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CudaBackend } from "../../../packages/backend-cuda/src/backend.ts";
import { InterpretedDriver } from "../../../packages/backend-cuda/test/interpreter/interpretedDriver.ts";
import { gpuCommand } from "../src/cli/gpu.ts";
import { ceilingOf, floorOf, measureCopyRates } from "../src/gpu/floor.ts";
import { prepareKernel, WrongResult } from "../src/gpu/measureKernel.ts";
import { ModelSource } from "../src/gpu/modelSource.ts";
import { productKernels } from "../src/gpu/products.ts";
import { memoryKernels, samplingKernels } from "../src/gpu/rows.ts";
import { kernelGroups, runGpu } from "../src/gpu/run.ts";
import { gpuTables } from "../src/gpu/tables.ts";
import { TorchPeer } from "../src/gpu/torch.ts";
import { shapes } from "../src/model/shapes.ts";

let folder: string;
let printed: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bench-gpu-"));
  printed = [];
  for (const method of ["log", "error"] as const) vi.spyOn(console, method).mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  vi.restoreAllMocks();
});

/** Patience with devices in software on a busy machine. */
const softwareMs = 180_000;

const quiet = { isOver: () => false, log: () => undefined, peer: undefined, copyRates: new Map([["interpreter", 1e9]]) };

/** The PTX of the kernels, on an interpreter. */
const interpreted: BackendFactory = {
  name: "cuda",
  open: async () => Object.assign(new CudaBackend(new InterpretedDriver()), { device: { kind: "software-gpu", name: "interpreter" } }),
};

test(
  "the command measures what a software GPU computes, and says why other devices are skipped",
  async () => {
    useSwiftShader();
    const json = join(folder, "gpu.json");
    const code = await gpuCommand(["--part", "ceiling,memory,sampling,models", "--json", json]);
    const text = printed.join("\n");
    const { results } = JSON.parse(readFileSync(json, "utf8"));
    expect(results.map(({ backend }: { backend: string }) => backend)).toEqual(["webgpu", "cuda"]);
    for (const { skipped, ceiling, kernels, models } of results) {
      if (skipped !== undefined) {
        expect(text).toContain(`skipped: ${skipped}`);
        continue;
      }
      expect(ceiling.copyRate).toBeGreaterThan(0);
      expect(kernels.map(({ name }: { name: string }) => name)).toContain("softmax 16×128");
      for (const { name, failed, seconds, floor } of kernels) {
        expect(failed, name).toBe(undefined);
        expect(Math.min(...seconds), name).toBeGreaterThanOrEqual(0);
        expect(floor).toBeGreaterThan(0);
      }
      expect(models[0].rows.map((row: { test: string }) => row.test)).toEqual(["pp8", "tg2"]);
      expect(text).toContain("| model");
    }
    expect(code).toBe(0);
  },
  softwareMs,
);

test("a wrong command line is refused", async () => {
  await expect(gpuCommand(["--part", "kernel"])).rejects.toThrow("--part: expected one of ceiling, kernels, products");
  await expect(gpuCommand(["--backend", "wasm"])).rejects.toThrow("--backend: expected one of webgpu, cuda, got wasm");
});

describe("kernels", () => {
  test(
    "of every group are right on the generated PTX",
    async () => {
      const { kernels, ceiling } = await runGpu({ ...quiet, factory: interpreted, groups: kernelGroups, hasModels: false });
      expect(ceiling).toEqual({ copyRate: 1e9 });
      expect(new Set(kernels.map(({ group }) => group))).toEqual(new Set(kernelGroups));
      for (const { name, failed, seconds } of kernels)
        expect([name, failed, seconds!.every((time) => time >= 0)]).toEqual([name, undefined, true]);
    },
    softwareMs,
  );

  test("that compute something else are failures, and not timed", async () => {
    const backend = await reference().open();
    const [product] = productKernels("tiny", () => "f32");
    const broken = { ...product!, sample: () => ({ operands: product!.operands(), at: (index: number) => (index === 0 ? 1 : index) }) };
    await expect(prepareKernel(backend, broken, 1)).rejects.toThrow(WrongResult);
    await expect(prepareKernel(backend, broken, 1)).rejects.toThrow(/relative error [\d.]+, at most 0.0001 is right/);
    await backend.dispose();
  });

  test("are skipped once the time is over", async () => {
    const result = await runGpu({ ...quiet, factory: interpreted, groups: ["sampling"], hasModels: false, isOver: () => true });
    expect(result.kernels).toMatchObject([
      { name: "argmax 500", skipped: "the time was over" },
      { name: "sample 500, default options", skipped: "the time was over" },
    ]);
    expect(gpuTables(result)).toContain("skipped: the time was over");
  });

  test("cover the shapes that a GPU is held to", () => {
    const names = [...productKernels("full", () => "half"), ...memoryKernels("full"), ...samplingKernels("full")].map(({ name }) => name);
    for (const name of ["q4_K 28672×4096, 1 row", "q6_K 128256×4096, 1 row", "q8_0 8192×8192, 64 rows", "f16 8192×8192, 4096 rows"])
      expect(names).toContain(name);
    expect(names).toContain("layerNorm 8192×8192");
    for (const { bytes, name } of memoryKernels("full")) expect(bytes, name).toBeGreaterThanOrEqual(2 ** 28);
  });
});

test("a device's copy rate is that of its fastest driver, and missing devices have none", async () => {
  const copies = (name: string, microseconds: number): BackendFactory => ({
    name,
    open: async () =>
      Object.assign(await reference().open(), {
        device: { kind: "software-gpu", name: name === "fast" ? "NVIDIA H200" : "nvidia-h200" },
        timeCopies: async () => microseconds,
      }),
  });
  const missing: BackendFactory = { name: "missing", open: () => Promise.reject(new UnsupportedError("missing", "no driver")) };
  const rates = await measureCopyRates([copies("slow", 4e6), missing, copies("fast", 1e6), copies("slower", 8e6)]);
  // Four copies of 4 MiB each are read and written.
  expect([...rates]).toEqual([["nvidia-h200", 8 * 4 * 2 ** 20]]);
  for (const name of ["NVIDIA H200", "nvidia-h200"]) expect(ceilingOf(name, rates).peaks).toEqual({ tensor: 989e12, f32: 67e12 });
});

test("the floor is the time of the bytes or of the arithmetic, whichever is longer", () => {
  const ceiling = { copyRate: 4e12, peaks: { tensor: 1e15, f32: 6e13 } };
  expect(floorOf({ bytes: 4e9, flops: 1e9, unit: "tensor" }, ceiling)).toBe(1e-3);
  expect(floorOf({ bytes: 4e9, flops: 6e12, unit: "f32" }, ceiling)).toBe(0.1);
  expect(floorOf({ bytes: 4e9, flops: 6e12, unit: "f32" }, { copyRate: 4e12 })).toBe(1e-3);
});

test("a model that is made while it is read returns the same bytes in any order", async () => {
  const source = new ModelSource("smollm2-135m", { ...shapes["smollm2-135m"]!, layers: 1 }, "Q8_0");
  const whole = await source.read(0, source.size);
  expect(new TextDecoder().decode(whole.subarray(0, 4))).toBe("GGUF");
  for (const [offset, length] of [
    [0, 1],
    [source.size - 100, 100],
    [5_000_001, 3_000_003],
  ] as const)
    expect(Buffer.from(await source.read(offset, length)).equals(whole.subarray(offset, offset + length))).toBe(true);
});

describe("the PyTorch peer", () => {
  const script = (body: string): string => {
    const file = join(folder, "peer.mjs");
    writeFileSync(file, `const say = (answer) => console.log(JSON.stringify(answer));\n${body}`);
    return file;
  };
  const task = { op: "argmax", shape: [1, 4] } as const;

  test("answers tasks one by one", async () => {
    const file = script(`say({ ready: "PyTorch 0" });
      for await (const line of (await import("node:readline")).createInterface({ input: process.stdin }))
        say(JSON.parse(line).op === "argmax" ? { seconds: [1, 2] } : { skipped: "OutOfMemoryError: 3 GiB" });`);
    const peer = await TorchPeer.open(process.execPath, file);
    expect(peer.name).toBe("PyTorch 0");
    expect(await peer.time(task)).toEqual([1, 2]);
    await expect(peer.time({ ...task, op: "sum" })).rejects.toThrow("OutOfMemoryError: 3 GiB");
    expect(await peer.time(task)).toEqual([1, 2]);
    await peer.dispose();
  });

  test("is skipped with the reason", async () => {
    await expect(TorchPeer.open(process.execPath, script(`say({ skipped: "no CUDA device" });`))).rejects.toThrow("no CUDA device");
    await expect(TorchPeer.open(process.execPath, script("process.exit(3);"))).rejects.toThrow("the script ended early");
    await expect(TorchPeer.open(join(folder, "python3"))).rejects.toThrow(/ENOENT/);
    const ended = await TorchPeer.open(process.execPath, script(`say({ ready: "PyTorch 0" });`));
    await expect(ended.time(task)).rejects.toThrow("the script ended early");
    await ended.dispose();
  });

  test("starts as a script of its own wherever Python is", async () => {
    if (!["/usr/bin/python3", "/usr/local/bin/python3"].some((path) => existsSync(path))) return;
    const opened = await TorchPeer.open().catch((error: unknown) => String(error));
    if (typeof opened === "string") expect(opened).toMatch(/Python has no PyTorch: No module named 'torch'$|PyTorch finds no CUDA device/);
    else await opened.dispose();
  });
});
