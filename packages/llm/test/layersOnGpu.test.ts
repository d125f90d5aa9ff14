import { wasm } from "@centella/backend-wasm";
import { expectOutputs, random, randomProgram, runAll, runOnce, sourceOf } from "@centella/conformance";
import { ArgumentError, type Backend, createRuntime, reference, UnsupportedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { opens, software } from "./gpus.ts";
import { tiny } from "./modelFiles.ts";
import { relativeError } from "./vectors.ts";

const runtime = await createRuntime({ backends: [software, wasm({ threads: 1 })] });
afterAll(() => runtime.dispose());

const ids = [0, 2817, 632, 263, 534];
/** SwiftShader compiles kernels of many rows for seconds each. */
const sizes = { contextLength: 64, batchSize: 3 } as const;

describe.skipIf(!(await opens(software)))("layers on WebGPU, the rest on WASM (skipped without a device)", () => {
  let want: Float32Array;
  beforeAll(async () => {
    await using alone = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    await using model = await loadModel(tiny, { runtime: alone, activations: "f32", ...sizes });
    want = await model.logits(ids);
  });

  test.each([
    [0, "wasm"],
    [2, "both"],
    [99, "both"],
  ])("%i layers: the same logits, computed on %s", async (count, where) => {
    const before = stepsOn("webgpu");
    await using model = await loadModel(tiny, {
      runtime,
      activations: "f32",
      ...sizes,
      layersOnGpu: { count, backend: "webgpu" },
    });
    expect(model.info.backend).toBe("webgpu + wasm");
    expect(model.info.backendReason).toMatch(/ layers.* on webgpu, as layersOnGpu asks/);
    expect(relativeError(await model.logits(ids), want)).toBeLessThan(1e-4);
    // The cache is where its layers are: a second text must not see the first.
    expect(relativeError(await model.logits(ids), want)).toBeLessThan(1e-4);
    expect(stepsOn("webgpu") - before > 0).toBe(where === "both");
  });

  test("a session is saved from both halves of the cache and restored into both", async () => {
    const options = { runtime, activations: "f32", ...sizes, cacheType: "f32" } as const;
    const greedy = { maxTokens: 4, temperature: 0 } as const;
    await using split = await loadModel(tiny, { ...options, layersOnGpu: { count: 2, backend: "webgpu" } });
    await using alone = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    await using whole = await loadModel(tiny, { ...options, runtime: alone });
    using session = split.createSession();
    const { text } = await session.complete("Once upon a time", greedy);
    const bytes = await session.save();
    using there = await whole.restoreSession(bytes);
    using back = await split.restoreSession(bytes);
    using fresh = whole.createSession();
    expect((await fresh.complete("Once upon a time", greedy)).text).toBe(text);
    const expected = (await fresh.complete("And then", greedy)).text;
    expect((await there.complete("And then", greedy)).text).toBe(expected);
    expect((await back.complete("And then", greedy)).text).toBe(expected);
  });

  test.each(Array.from({ length: 8 }, (_, i) => 7000 + i))(
    "random programs placed on WebGPU, WASM and the reference, seed %i",
    async (seed) => {
      const { program, weights, runs, tolerance } = randomProgram(seed);
      const next = random(seed);
      const placement = Object.fromEntries(
        [...program.persistents.keys()].map((name) => [name, ["webgpu", "wasm", "reference"][Math.floor(3 * next())]!]),
      );
      let plan: Awaited<ReturnType<typeof runtime.compile>>;
      try {
        plan = await runtime.compile(program, { placement });
      } catch (error) {
        // An op that the home has no kernel for yet: said in words, and nothing to compare.
        if (error instanceof UnsupportedError) return expect(error.message).toMatch(/there is no kernel|unsupported/);
        throw error;
      }
      for (const [name, stored] of Object.entries(weights)) await plan.load(name, sourceOf(stored));
      const expected = await runAll(await reference({ optimize: false }).open(), program, weights, runs);
      for (const [i, { inputs, dims }] of runs.entries()) {
        expectOutputs(`placed program ${seed}, run ${i}`, await runOnce(plan, inputs, dims), expected[i]!, tolerance);
      }
      plan.dispose();
    },
  );
});

test("layers on a GPU require a GPU and a CPU backend", async () => {
  await using alone = await createRuntime({ backends: [wasm({ threads: 1 })] });
  const load = (layersOnGpu: unknown) => loadModel(tiny, { runtime: alone, layersOnGpu: layersOnGpu as number });
  await expect(load(2)).rejects.toThrow(/layersOnGpu: unsupported: no GPU is open \(wasm: a cpu; reference: a cpu\)/);
  await expect(load({ count: 2, backend: "cuda" })).rejects.toThrow(/layersOnGpu: expected a backend among wasm, reference, got cuda/);
  await expect(load(-1)).rejects.toThrow(ArgumentError);
  await using forced = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await expect(loadModel(tiny, { runtime: forced, layersOnGpu: { count: 1, backend: "wasm" } })).rejects.toThrow(
    /no backend but wasm is open/,
  );
});

function stepsOn(name: string): number {
  const backend: Backend | undefined = runtime.backends.find((open) => open.name === name);
  return Object.values(backend?.counters.ops ?? {}).reduce((sum, count) => sum + count, 0);
}
