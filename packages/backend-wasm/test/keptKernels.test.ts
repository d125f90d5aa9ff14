import { createProgram, type Program } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { afterEach, expect, test, vi } from "vitest";
import { type KernelStore, wasm } from "../src/index.ts";

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
async function compute(threads: number, names: readonly (keyof typeof ops)[], kernels?: KernelStore) {
  const backend = await wasm({ threads, ...(kernels && { kernels }) }).open();
  const results: number[][] = [];
  for (const name of names) {
    const plan = await backend.compile(record(name));
    const { x, w } = inputs;
    results.push([...(await plan.run(name === "rmsNorm" ? { x, w } : { x }).y!.data())]);
  }
  await backend.dispose();
  return results;
}

/** A store that keeps what it is given as a file would. */
function createStore() {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const write = vi.fn((key: string, bytes: () => Uint8Array<ArrayBuffer>) => void files.set(key, bytes().slice()));
  return { files, write, read: (key: string) => files.get(key) };
}

afterEach(() => {
  vi.doUnmock("../src/linking/codeVersion.ts");
  vi.resetModules();
});

test.each([1, 2])("kernels of earlier processes are not emitted again, and compute the same; threads: %i", async (threads) => {
  const [norm, softmax] = await compute(threads, ["rmsNorm", "softmax"]);
  const store = createStore();
  expect(await compute(threads, ["rmsNorm"], store)).toEqual([norm]);
  expect(store.write).toHaveBeenCalledTimes(1);
  // What the store lacks is added.
  expect(await compute(threads, ["softmax", "rmsNorm"], store)).toEqual([softmax, norm]);
  expect(store.write).toHaveBeenCalledTimes(2);
  expect(await compute(threads, ["rmsNorm", "softmax"], store)).toEqual([norm, softmax]);
  expect(store.write).toHaveBeenCalledTimes(2);
});

test("kernels are kept for each form of memory and each instruction set", async () => {
  const store = createStore();
  await compute(1, ["rmsNorm"], store);
  await compute(2, ["rmsNorm"], store);
  const strict = await wasm({ threads: 1, relaxed: false, kernels: store }).open();
  await strict.compile(record("rmsNorm"));
  await strict.dispose();
  expect(store.write).toHaveBeenCalledTimes(store.files.size);
  expect([...store.files.keys()].every((key) => /^[\w-]+$/.test(key))).toBe(true);
});

test("kernels of another version of the package are neither read nor replaced", async () => {
  const store = createStore();
  await compute(1, ["rmsNorm"], store);
  const [[key, bytes]] = [...store.files] as [[string, Uint8Array<ArrayBuffer>]];
  vi.resetModules();
  vi.doMock("../src/linking/codeVersion.ts", () => ({ codeVersion: "0123456789abcdef" }));
  const other = await (await import("../src/index.ts")).wasm({ threads: 1, kernels: store }).open();
  await other.compile(record("rmsNorm"));
  await other.dispose();
  expect(store.files.size).toBe(2);
  expect([...store.files.keys()][1]).toMatch(/^0123456789abcdef-/);
  expect(store.files.get(key)).toEqual(bytes);
});
