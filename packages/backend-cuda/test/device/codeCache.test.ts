import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProgram, type OpRecorder, type Value } from "@centella/core";
import { KernelCache } from "@centella/core/kernelCache";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { CodeCache } from "../../src/device/codeCache.ts";
import { DriverError } from "../../src/device/driver.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kernels-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Code of a device in the folder. */
function codesOf({ device }: InterpretedDriver): CodeCache {
  return new CodeCache(new KernelCache(join(folder, "kernels")), device);
}

/** Runs a program in a new backend, and returns the number of kernels that its driver compiled. */
async function compiled(
  mode: "awaited" | "within the call" = "awaited",
  device: Partial<InterpretedDriver["device"]> = {},
): Promise<number> {
  const driver = Object.assign(new InterpretedDriver(), { refused: 0 });
  Object.assign(driver, { device: { ...driver.device, ...device } });
  let count = 0;
  const { compileSync, loadModuleSync } = driver;
  driver.compileSync = (ptx) => {
    count++;
    return compileSync.call(driver, ptx);
  };
  driver.loadModuleSync = (image) => {
    if (image.length < 20) throw new DriverError(200, "CUDA_ERROR_INVALID_IMAGE", "cuModuleLoadDataEx");
    return loadModuleSync.call(driver, image);
  };
  const backend = new CudaBackend(driver, codesOf(driver));
  const program = createProgram();
  program.output("y", program.neg(program.input("x", "f32", [2])));
  const x = Float32Array.of(1, -2);
  const y =
    mode === "awaited" ? await (await backend.compile(program)).run({ x }).y!.data() : backend.compileSync(program).runSync!({ x }).y!;
  expect([...y]).toEqual([-1, 2]);
  await backend.dispose();
  return count;
}

test("kernels are compiled once for all processes, by either way of calling", async () => {
  expect(await compiled()).toBe(1);
  expect(await compiled()).toBe(0);
  expect(await compiled("within the call")).toBe(0);
  await rm(join(folder, "kernels"), { recursive: true });
  expect(await compiled("within the call")).toBe(1);
  expect(await compiled()).toBe(0);
});

test("other devices and drivers have code of their own", async () => {
  expect(await compiled()).toBe(1);
  expect(await compiled("awaited", { driverVersion: 13000 as never })).toBe(1);
  expect(await compiled("awaited", { computeCapability: [9, 1] as never })).toBe(1);
  expect(await compiled()).toBe(0);
});

test("code that is damaged, or that the driver refuses, is written again", async () => {
  expect(await compiled()).toBe(1);
  const [name, ...others] = await readdir(join(folder, "kernels"));
  expect(others).toEqual([]);
  const file = join(folder, "kernels", name!);
  const intact = await readFile(file);
  const refuse = async (): Promise<void> => {
    const cache = new KernelCache(join(folder, "kernels"));
    cache.write(name!, () => new TextEncoder().encode("other code"));
    await cache.settled();
  };
  for (const mode of ["awaited", "within the call"] as const) {
    for (const replace of [() => writeFile(file, intact.subarray(0, -1)), refuse]) {
      await replace();
      expect(await compiled(mode)).toBe(1);
      expect(await readFile(file)).toEqual(intact);
    }
  }
});

test("without a usable folder, kernels are compiled by each process", async () => {
  await writeFile(join(folder, "kernels"), "a file in place of the folder");
  expect(await compiled()).toBe(1);
  expect(await compiled("within the call")).toBe(1);
});

/** A product of many rows, which a device of compute capability 9.0 multiplies with warpgroups. */
function productProgram(): OpRecorder {
  const program = createProgram();
  const weights = program.persistent("w", { dtype: "q4_K", shape: [512, 512] });
  const product = program.matmul(program.input("x", "f32", [2048, 512]), weights, { transposeB: true, activations: "half" });
  program.output("y", product, { to: "device" });
  return program;
}

/** Attention on tensor cores of scaled queries. */
function attentionProgram(): OpRecorder {
  const program = createProgram();
  const ints = (name: string, ...shape: number[]): Value => program.input(name, "i32", shape);
  const cache = program.persistent("cache", { dtype: "f16", shape: [64, 1, 128] });
  const q = program.sort(program.input("q", "f32", [1, 4, 64]));
  const options = { scale: 0.125, blockSize: 16, activations: "half" } as const;
  const y = program.attention(q, cache, ints("positions", 1), ints("seqOf", 1), ints("blockTable", 1, 4), ints("seqLens", 1), options);
  program.output("y", y, { to: "device" });
  return program;
}

test.each([
  { way: "compile", capability: [9, 0], program: productProgram(), mark: "setmaxnreg" },
  { way: "compileSync", capability: [9, 0], program: productProgram(), mark: "setmaxnreg" },
  { way: "compile", capability: [8, 0], program: attentionProgram(), mark: "attentionFew_f16" },
] as const)(
  "$way on $capability: texts that are slower as the linker compiles them are compiled as they are loaded",
  async ({ way, capability, program, mark }) => {
    const driver = new InterpretedDriver(capability);
    const loaded: (string | Uint8Array)[] = [];
    const load = (image: string | Uint8Array): bigint => {
      loaded.push(image);
      return 0n;
    };
    Object.assign(driver, {
      loadModuleSync: load,
      loadModule: async (image: string) => load(image),
      kernel: () => 0n,
      unloadModule: () => undefined,
    });
    const backend = new CudaBackend(driver, codesOf(driver));
    const plan = await backend[way](program);
    const whole = loaded.filter((image) => typeof image === "string");
    expect(whole).toHaveLength(1);
    expect(whole[0]).toContain(mark);
    expect(loaded.length).toBeGreaterThan(whole.length);
    plan.dispose();
    await backend.dispose();
    expect(await readdir(join(folder, "kernels"))).toHaveLength(loaded.length - whole.length);
  },
);
