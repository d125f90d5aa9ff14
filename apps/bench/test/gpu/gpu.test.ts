import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BackendFactory, reference, UnsupportedError } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CudaBackend } from "../../../../packages/backend-cuda/src/backend.ts";
import { InterpretedDriver } from "../../../../packages/backend-cuda/test/interpreter/interpretedDriver.ts";
import { peakOfLoading } from "../../src/budgets/gpuMemory.ts";
import type { Ceiling } from "../../src/ceilings/measure.ts";
import { gpuCommand } from "../../src/cli/gpu.ts";
import { withTables } from "../../src/docs/update.ts";
import { columnKernels } from "../../src/gpu/columns.ts";
import { convolutionKernels } from "../../src/gpu/convolutions.ts";
import { copyKernels } from "../../src/gpu/copies.ts";
import { ceilingOf, floorOf, measureCopies } from "../../src/gpu/floor.ts";
import { hostRows } from "../../src/gpu/host.ts";
import type { Scale } from "../../src/gpu/kernel.ts";
import { judge, measureLayers } from "../../src/gpu/layer.ts";
import { prepareKernel, WrongResult } from "../../src/gpu/measureKernel.ts";
import { ModelSource } from "../../src/gpu/modelSource.ts";
import { modelNames, testedModels } from "../../src/gpu/models.ts";
import { expertKernels, productKernels } from "../../src/gpu/products.ts";
import { gpuReceiptRows } from "../../src/gpu/receipt.ts";
import { memoryKernels, samplingKernels } from "../../src/gpu/rows.ts";
import { kernelGroups, runGpu } from "../../src/gpu/run.ts";
import { gpuTables } from "../../src/gpu/tables.ts";
import { shapes } from "../../src/model/shapes.ts";
import { checkReceipt } from "../../src/receipts/check.ts";
import { readReceipts } from "../../src/receipts/store.ts";
import { measureRows } from "../../src/runner/measure.ts";

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

/** So that the command skips nothing on a slow machine. */
const patient = ["--minutes", "60"];

const copies: Ceiling = { kind: "copy", threads: 0, backend: "cuda", work: 1e9, samples: [[1, 1]] };
const quiet = {
  isOver: () => false,
  log: () => undefined,
  peer: undefined,
  copies: new Map([["interpreter", copies]]),
  samples: 2,
  hasLayer: false,
  hasHost: false,
  models: undefined,
};

/** The PTX of the kernels, on an interpreter. */
const interpreted: BackendFactory = {
  name: "cuda",
  open: async () => Object.assign(new CudaBackend(new InterpretedDriver()), { device: { kind: "software-gpu", name: "interpreter" } }),
};

test("the command measures what a software GPU computes, writes a receipt, and says why other devices are skipped", async () => {
  useSwiftShader();
  const json = join(folder, "gpu.json");
  const code = await gpuCommand(["--part", "ceiling,memory,sampling,convolution,host", ...patient, "--json", json]);
  const text = printed.join("\n");
  const [receipt] = readReceipts(json);
  const { devices, rows, ceilings, versions, command } = receipt!;
  if (devices.webgpu === undefined) expect(text).toContain("webgpu: skipped: ");
  else {
    const ids = rows.filter(({ subjects }) => subjects.some(({ name }) => name === "webgpu")).map(({ id }) => id);
    for (const id of ["memory: softmax 16×128", "memory: concat 16×128", "memory: sum 1×2000"]) expect(ids).toContain(id);
    for (const id of ["matmul 16² from host to host", "10 ops on 32768 elements as a batch"]) expect(ids).toContain(id);
    expect(ceilings.map(({ backend }) => backend)).toContain("webgpu");
    expect(text).toContain("| host ");
  }
  expect(versions.node).toBe(process.versions.node);
  expect(command).toMatch(/^pnpm bench gpu --part ceiling,/);
  for (const { id, subjects } of rows) for (const { failed } of subjects) expect([id, failed]).toEqual([id, undefined]);
  // What remains is whether the commit is clean and on main.
  expect(checkReceipt(receipt!, folder).filter((problem) => !problem.startsWith("commit "))).toEqual([]);
  expect(withTables("<!-- bench gpu -->\n<!-- /bench -->", [receipt!])).toContain("`pnpm bench gpu --part ceiling,");
  expect(code).toBe(0);
});

test("models have rows for prompts, texts, texts after a depth, and several texts at once", async () => {
  useSwiftShader();
  const json = join(folder, "models.json");
  const options = ["--type", "F16", "--streams", "2", ...patient];
  expect(await gpuCommand(["--backend", "webgpu", "--part", "models", ...options, "--samples", "2", "--json", json])).toBe(0);
  const [receipt] = readReceipts(json);
  if (receipt!.devices.webgpu === undefined) return;
  expect(printed.join("\n")).toMatch(/tiny F16: ready after \d+\.\d\d s, first token after \d+\.\d\d s\n\n\| model/);
  const tests = ["pp8", "tg2", "tg2 @ d16", "tg3 × 2"].map((name) => `tiny F16 ${name}`);
  expect(receipt!.rows.map(({ id, subjects: [ours] }) => [id, ours!.samples!.flat().length])).toEqual(tests.map((id) => [id, 2]));
});

test("each model is measured with each type of weights", () => {
  const choice = { names: modelNames, types: ["Q8_0", "F16"], streams: [2, 64] } as const;
  const namesOf = (scale: Scale): readonly string[] => testedModels(scale, choice).map(({ name, type }) => `${name} ${type}`);
  expect(namesOf("full")).toEqual(["llama-3.2-1b Q8_0", "llama-3.2-1b F16", "llama-3.1-8b Q8_0", "llama-3.1-8b F16"]);
  expect(namesOf("tiny")).toEqual(["tiny Q8_0", "tiny F16"]);
});

test("a wrong command line is refused", async () => {
  await expect(gpuCommand(["--part", "kernel"])).rejects.toThrow("--part: expected one of ceiling, kernels, products");
  await expect(gpuCommand(["--model", "70b"])).rejects.toThrow("--model: expected one of 1b, 8b, got 70b");
  await expect(gpuCommand(["--type", "Q4_0"])).rejects.toThrow("--type: expected one of Q4_K_M, Q8_0, F16, got Q4_0");
  await expect(gpuCommand(["--streams", "2,0"])).rejects.toThrow("--streams: expected a whole number from 1 to 256, got 0");
  await expect(gpuCommand(["--backend", "wasm"])).rejects.toThrow("--backend: expected one of webgpu, cuda, got wasm");
});

test("the command starts where the packages of browsers and bundlers are not installed", () => {
  const missing = `import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (/^(playwright-core|esbuild)/.test(name)) throw new Error(name + " is missing");
      return next(name, context);
    } });`;
  const args = ["--conditions=@centella/source", "--no-warnings", "--import", `data:text/javascript,${encodeURIComponent(missing)}`];
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
  expect(execFileSync(process.execPath, [...args, main, "gpu", "--help"], { encoding: "utf8" })).toContain("Usage: pnpm bench gpu");
});

describe("a layer", () => {
  test("of a model is as near to the reference on the generated PTX as rounded inputs are", async () => {
    const result = await runGpu({ ...quiet, factory: interpreted, groups: [], hasLayer: true });
    expect(result.layers.map(({ name, activations }) => [name, activations])).toEqual([
      ["tiny Q4_K_M, 1 at 41", "half"],
      ["tiny Q4_K_M, 17 at 57", "half"],
    ]);
    for (const { failed, ratio } of result.layers) expect([failed, ratio! > 0]).toEqual([undefined, true]);
    expect(gpuTables(result)).toContain("| tiny Q4_K_M, 17 at 57 | half ");
    expect(gpuReceiptRows([result])).toEqual([]);
  });

  test("has no error on the reference; an error beyond rounding is a failure", async () => {
    const backend = await reference().open();
    const said: string[] = [];
    const settings = { scale: "tiny", modeOf: () => "f32" as const, log: (line: string) => void said.push(line) } as const;
    const exact = await measureLayers(backend, { ...settings, isOver: () => false });
    expect(said).toEqual([
      "layers: exact results on 4 threads, which take some 10 s",
      expect.stringMatching(/^tiny Q4_K_M, 1 at 41: right after [\d.]+ s$/),
      expect.stringMatching(/^tiny Q4_K_M, 17 at 57: right after /),
    ]);
    const over = await measureLayers(backend, { ...settings, isOver: () => true });
    expect(over.map(({ skipped }) => skipped)).toEqual(["the time was over", "the time was over"]);
    expect(exact.map(({ error, sensitivity }) => [error, sensitivity! > 0])).toEqual([
      [0, true],
      [0, true],
    ]);
    await backend.dispose();
    expect(judge(8.1e-4, 2e-4).failed).toBe("wrong result: relative error 8.1e-4, at most 4 times the sensitivity of 2.0e-4 is right");
    expect(judge(Number.NaN, 2e-4).failed).toContain("wrong result: relative error NaN");
    const layers = [{ name: "tiny", activations: "half", ...judge(1, 0.1) }] as const;
    const [row] = gpuReceiptRows([{ backend: "cuda", device: "GPU", kernels: [], layers, host: [], models: [] }]);
    expect(row).toMatchObject({ id: "layer: tiny", subjects: [{ name: "cuda", failed: expect.stringContaining("wrong result") }] });
  });
});

describe("kernels", () => {
  test("of every group are right on the generated PTX", async () => {
    const { kernels, ceiling } = await runGpu({ ...quiet, factory: interpreted, groups: kernelGroups });
    expect(ceiling).toEqual({ copyRate: 1e9 });
    expect(new Set(kernels.map(({ group }) => group))).toEqual(new Set(kernelGroups));
    for (const { name, failed, seconds } of kernels)
      expect([name, failed, seconds!.flat().every((time) => time >= 0)]).toEqual([name, undefined, true]);
  });

  test("that read the same rows are launches of their own", async () => {
    const backend = await interpreted.open();
    const { fusion } = backend;
    const compile = vi.spyOn(backend, "compile");
    const kernel = productKernels("tiny", () => "half").find(({ name }) => name === "q4_K 16×256, 1 row")!;
    const prepared = await prepareKernel(backend, kernel, 1);
    const plan = await (compile.mock.results[0]!.value as ReturnType<typeof backend.compile>);
    const { steps } = await plan.profile({});
    expect(steps.map(({ op }) => op)).toEqual(Array.from({ length: prepared.calls }, () => "matmul"));
    expect([...plan.program.persistents.keys()].filter((name) => name.endsWith("operand0"))).toEqual(["call0.operand0"]);
    expect(backend.fusion).toBe(fusion);
    await backend.dispose();
  });

  test("that compute something else are failures, and not timed", async () => {
    const backend = await reference().open();
    const [product] = productKernels("tiny", () => "f32");
    const broken = { ...product!, sample: () => ({ operands: product!.operands(), at: (index: number) => (index === 0 ? 1 : index) }) };
    await expect(prepareKernel(backend, broken, 1)).rejects.toThrow(WrongResult);
    await expect(prepareKernel(backend, broken, 1)).rejects.toThrow(/relative error [\d.]+, at most 0.0001 is right/);
    await backend.dispose();
  });

  test("are skipped once the time is over", async () => {
    const result = await runGpu({ ...quiet, factory: interpreted, groups: ["sampling"], isOver: () => true });
    expect(result.kernels).toMatchObject([
      { name: "argmax 500", skipped: "the time was over" },
      { name: "sample 500, default options", skipped: "the time was over" },
    ]);
    expect(gpuTables(result)).toContain("skipped: the time was over");
  });

  test("cover the shapes that a GPU is held to", () => {
    const products = [...productKernels("full", () => "half"), ...expertKernels("full", () => "half")];
    const names = [
      ...products,
      ...memoryKernels("full"),
      ...columnKernels("full"),
      ...copyKernels("full"),
      ...convolutionKernels("full"),
      ...samplingKernels("full"),
    ].map(({ name }) => name);
    for (const name of ["q4_K 28672×4096, 1 row", "q6_K 128256×4096, 1 row", "q8_0 8192×8192, 64 rows", "f16 8192×8192, 4096 rows"])
      expect(names).toContain(name);
    for (const name of [
      "q4_K 8192×8192, 1 row, f32 mode",
      "f16 4096×4096, 512 rows",
      "q4_K 4096×4096, 512 rows",
      "f32 4096×4096, 4096 rows",
    ])
      expect(names).toContain(name);
    for (const name of [
      "q4_K 8 of 128 experts 768×2048, 1 row",
      "conv2d 3×3, 32 channels of 1024²",
      "sum 1×1000000",
      "sum over axis 0 of 8192×8192",
      "softmax over axis 1 of 16×64×65536",
      "concat 8192×8192",
      "transpose 8192×8192",
    ])
      expect(names).toContain(name);
    expect(new Set(names).size).toBe(names.length);
    const bounded = [...memoryKernels("full"), ...columnKernels("full"), ...copyKernels("full")];
    for (const { bytes, name } of bounded.filter(({ name }) => !name.includes(" 1×"))) expect(bytes, name).toBeGreaterThanOrEqual(2 ** 28);
  });
});

test("calls from the host are right on any backend, and those that are not are failures", async () => {
  const backend = await reference().open();
  const settings = { passes: 1, rounds: 1, sampleSeconds: 0, warmupSeconds: 0, warmupCalls: 1 };
  const measured = await measureRows(hostRows(backend, "tiny"), settings);
  const statuses = [...Array.from({ length: 7 }, () => "measured"), "skipped", "skipped"];
  expect(measured.map(({ outcomes }) => outcomes[0]!.outcome.status)).toEqual(statuses);
  expect(measured.at(-1)!.outcomes[0]!.outcome).toMatchObject({ reason: "plans have no variants" });
  const wrong = Object.assign(Object.create(backend), {
    upload: () => backend.upload({ dtype: "f32", shape: [2 ** 15] }, new Float32Array(2 ** 15)),
  });
  const [readback] = await measureRows(
    hostRows(wrong, "tiny").filter(({ id }) => id.startsWith("readback")),
    settings,
  );
  expect(readback!.outcomes[0]!.outcome).toMatchObject({ status: "failed", reason: expect.stringMatching(/^wrong result: expected /) });
  await backend.dispose();
});

test("a receipt has a row per kernel with the samples of each backend and of the peer", () => {
  const kernel = {
    group: "memory",
    name: "add",
    bytes: 1e9,
    flops: 1e6,
    floor: 1e-3,
    seconds: [
      [1, 2],
      [3, 4],
    ],
    calls: 2,
  } as const;
  const ceiling = { copyRate: 1e12 };
  const result = { device: "GPU", ceiling, layers: [], host: [], models: [] };
  const bound = { ...kernel, name: "matmul", floor: 1 };
  const rows = gpuReceiptRows([
    {
      ...result,
      backend: "webgpu",
      kernels: [
        {
          ...kernel,
          peerSeconds: [
            [2, 4],
            [6, 8],
          ],
        },
        bound,
      ],
    },
    {
      ...result,
      backend: "cuda",
      kernels: [{ ...kernel, failed: "wrong result" }, bound],
      models: [{ model: "m", backend: "cuda", skipped: "the time was over" }],
    },
  ]);
  expect(rows).toMatchObject([
    {
      id: "memory: add",
      metric: "µs",
      bound: "copy",
      subjects: [
        { name: "webgpu", time: { median: 2.5 } },
        { name: "PyTorch", side: "peer", ratios: { webgpu: { median: 2 } } },
        { name: "cuda", failed: "wrong result" },
      ],
    },
    { id: "memory: matmul", metric: "GFLOP/s", bound: "none", subjects: [{ name: "webgpu" }, { name: "cuda" }] },
    { id: "m", subjects: [{ name: "cuda", skipped: "the time was over" }] },
  ]);
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
  const measured = await measureCopies([copies("slow", 4e6), missing, copies("fast", 1e6), copies("slower", 8e6)]);
  expect([...measured.keys()]).toEqual(["nvidia-h200"]);
  // Four copies of 4 MiB each are read and written.
  expect(ceilingOf("NVIDIA H200", measured).copyRate).toBe(8 * 4 * 2 ** 20);
  for (const name of ["NVIDIA H200", "nvidia-h200"]) expect(ceilingOf(name, measured).peaks).toEqual({ tensor: 989e12, f32: 67e12 });
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
  const target = new Uint8Array(3_000_003).fill(7);
  await source.readInto(target, 5_000_001);
  expect(Buffer.from(target).equals(whole.subarray(5_000_001, 8_000_004))).toBe(true);
});

test("the memory of a load on WebGPU is that of chunks and of the model's structure, not of its weights", async () => {
  const shape = { ...shapes["llama-3.2-1b"]!, layers: 2 };
  const { size } = new ModelSource("llama-3.2-1b", shape, "Q4_K_M");
  const peak = await peakOfLoading("llama-3.2-1b", shape);
  expect(peak).toBeGreaterThan(16 * 2 ** 20);
  expect(peak).toBeLessThan(size / 2);
});
