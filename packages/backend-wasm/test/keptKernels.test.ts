import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProgram, type Program } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { KernelCache } from "@centella/core/kernelCache";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type WasmOptions, wasm } from "../src/index.ts";
import { KeptKernels } from "../src/linking/keptKernels.ts";

const size = [2, 8];
const inputs = { x: Float32Array.from({ length: 16 }, (_, i) => Math.sin(i)), w: Float32Array.from({ length: 8 }, (_, i) => i - 3) };

/** Ops with kernels and constants of their own. */
const ops = {
  rmsNorm: (program: Program) => program.rmsNorm(program.input("x", "f32", size), program.input("w", "f32", [8]), { eps: 1e-5 }),
  softmax: (program: Program) => program.softmax(program.input("x", "f32", size)),
};

function record(op: keyof typeof ops): ProgramGraph {
  const program = createProgram();
  program.output("y", ops[op](program));
  return program;
}

/** Computes the ops in turn as a new process would, and returns the results. */
async function compute(options: WasmOptions, names: readonly (keyof typeof ops)[]) {
  const backend = await wasm(options).open();
  const results: number[][] = [];
  for (const name of names) {
    const plan = await backend.compile(record(name));
    const { x, w } = inputs;
    results.push([...(await plan.run(name === "rmsNorm" ? { x, w } : { x }).y!.data())]);
  }
  await backend.dispose();
  return results;
}

let kernelCache = "";
/** Modules that processes kept, which are emitted modules, and those that they linked instead. */
const [kept, linked] = [vi.spyOn(KeptKernels.prototype, "add"), vi.spyOn(KeptKernels.prototype, "link")];

/** Number of modules that were linked without emitting them. */
function linkedModules(): number {
  return linked.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0);
}

beforeEach(async () => {
  kernelCache = await mkdtemp(join(tmpdir(), "kernels-"));
  vi.clearAllMocks();
});
afterEach(() => rm(kernelCache, { recursive: true }));

test.each([1, 2])("kernels of earlier processes are not emitted again, and compute the same; threads: %i", async (threads) => {
  const [norm, softmax] = await compute({ threads, kernelCache: false }, ["rmsNorm", "softmax"]);
  expect(kept).not.toHaveBeenCalled();
  const options = { threads, kernelCache };
  expect(await compute(options, ["rmsNorm"])).toEqual([norm]);
  expect([kept.mock.calls.length, linkedModules()]).toEqual([1, 0]);
  // What the cache lacks is added.
  expect(await compute(options, ["softmax", "rmsNorm"])).toEqual([softmax, norm]);
  expect([kept.mock.calls.length, linkedModules()]).toEqual([2, 1]);
  expect(await compute(options, ["rmsNorm", "softmax"])).toEqual([norm, softmax]);
  expect([kept.mock.calls.length, linkedModules()]).toEqual([2, 3]);
});

test("modules that a program does not need are not linked, except for those whose constants it uses", async () => {
  const options = { threads: 1, kernelCache };
  const [norm, softmax] = await compute(options, ["rmsNorm", "softmax"]);
  vi.clearAllMocks();
  // The first module alone.
  expect(await compute(options, ["rmsNorm"])).toEqual([norm]);
  expect([kept.mock.calls.length, linkedModules()]).toEqual([0, 1]);
  vi.clearAllMocks();
  // The second one of the same process may use constants of the first.
  expect(await compute(options, ["softmax"])).toEqual([softmax]);
  expect([kept.mock.calls.length, linkedModules()]).toEqual([0, 2]);
});

test("kernels are kept for each form of memory and each instruction set", async () => {
  for (const options of [{ threads: 1 }, { threads: 2 }, { threads: 1, relaxed: false }])
    await compute({ ...options, kernelCache }, ["rmsNorm"]);
  const keys = await readdir(kernelCache);
  expect(kept).toHaveBeenCalledTimes(keys.length);
  expect(keys.length).toBeGreaterThan(1);
});

/** The content of a file, with another number of bytes of constants for all of its modules. */
function withConstants(content: Uint8Array, constantBytes: number): Uint8Array<ArrayBuffer> {
  const length = new DataView(content.buffer, content.byteOffset).getUint32(0, true);
  const list = JSON.parse(new TextDecoder().decode(content.subarray(4, 4 + length))) as readonly object[];
  const changed = new TextEncoder().encode(JSON.stringify(list.map((module) => ({ ...module, constantBytes }))));
  return Uint8Array.from([...new Uint8Array(Uint32Array.of(changed.length).buffer), ...changed, ...content.subarray(4 + length)]);
}

test("modules whose constants leave too little room are replaced", async () => {
  const options = { threads: 1, kernelCache };
  const expected = await compute(options, ["rmsNorm"]);
  const [key] = (await readdir(kernelCache)) as [string];
  const file = await readFile(join(kernelCache, key));
  const cache = new KernelCache(kernelCache);
  const content = cache.readSync(key)!;
  cache.write(key, () => withConstants(content, 10_000));
  await cache.settled();
  vi.clearAllMocks();
  expect(await compute(options, ["rmsNorm"])).toEqual(expected);
  expect([kept.mock.calls.length, linkedModules()]).toEqual([1, 0]);
  expect(await readFile(join(kernelCache, key))).toEqual(file);
});

test("a damaged file is replaced, and a folder that cannot be used is no failure", async () => {
  const options = { threads: 1, kernelCache };
  const expected = await compute(options, ["rmsNorm"]);
  const [key] = (await readdir(kernelCache)) as [string];
  const file = await readFile(join(kernelCache, key));
  await writeFile(join(kernelCache, key), file.with(file.length >> 1, file[file.length >> 1]! ^ 1));
  expect(await compute(options, ["rmsNorm"])).toEqual(expected);
  expect(await readFile(join(kernelCache, key))).toEqual(file);
  expect(await compute({ threads: 1, kernelCache: join(kernelCache, key) }, ["rmsNorm"])).toEqual(expected);
});

test("the option is a folder or false", () => {
  for (const wrong of ["", true, {}])
    expect(() => wasm({ kernelCache: wrong as string })).toThrow(
      /^wasm: expected kernelCache to be a string that is not empty or false, got /,
    );
});
