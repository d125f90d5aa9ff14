import { cuda } from "@centella/backend-cuda";
import { type BackendFactory, createRuntime } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { asLlamaCpp, familyError, modelOfFamily } from "./familyError.ts";
import { familyGoldens, familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { interpreted, opens, software } from "./gpus.ts";

/** Of f32 weights and cache, with the elementary functions of a GPU. */
const gpuError = 1e-3;

const others = familyGoldens.filter((name) => readFamilyGolden(name).ranked === undefined);
const rankers = familyGoldens.filter((name) => readFamilyGolden(name).ranked !== undefined);
/** Experts, recurrent states with a cache, a latent cache. */
const onWebgpu = isWholeGrid ? others : ["gpt-oss", "jamba", "deepseek2"];
const onInterpreter = isWholeGrid ? others : ["mamba", "llama-moe"];

// Tests of a backend are skipped where it has no device. Where REQUIRE_BACKENDS names it, as WebGPU in CI, `opens` throws instead.
test.skipIf(!(await opens(software))).each(onWebgpu)("%s on WebGPU computes what llama.cpp does (skipped without a device)", (name) =>
  expectGolden(software, name),
);

// CI has no NVIDIA GPU: there, the interpreter runs the same kernels below.
test.skipIf(!(await opens(cuda()))).each(others)("%s on CUDA computes what llama.cpp does (skipped without a device)", (name) =>
  expectGolden(cuda(), name),
);

test.each(onInterpreter)("%s as interpreted PTX computes what llama.cpp does", (name) => expectGolden(interpreted, name));

// Each takes a software GPU 40 to 65 seconds, so the sample has them as PTX alone.
test.skipIf(!(await opens(software))).each(isWholeGrid ? rankers : [])(
  "%s on WebGPU scores as llama.cpp does (skipped without a device)",
  (name) => expectGolden(software, name),
);

// As above, on the interpreter below in CI.
test.skipIf(!(await opens(cuda()))).each(rankers)("%s on CUDA scores as llama.cpp does (skipped without a device)", (name) =>
  expectGolden(cuda(), name),
);

test.each(isWholeGrid ? rankers : ["bert-rank"])("%s as interpreted PTX scores as llama.cpp does", (name) =>
  expectGolden(interpreted, name),
);

/** Layers with states alone, and with a cache besides. The second takes a software GPU a minute. */
const recurrent = ["mamba2", "jamba"];

test.skipIf(!(await opens(software))).each(isWholeGrid ? recurrent : ["mamba2"])(
  "a session of %s on WebGPU forks, is saved and goes on (skipped without a device)",
  (name) => expectSessions(software, name),
);

test.skipIf(!(await opens(cuda()))).each(recurrent)(
  "a session of %s on CUDA forks, is saved and goes on (skipped without a device)",
  (name) => expectSessions(cuda(), name),
);

test("a session of mamba2 as interpreted PTX forks, is saved and goes on", () => expectSessions(interpreted, "mamba2"));

async function expectGolden(factory: BackendFactory, name: string): Promise<void> {
  const golden = readFamilyGolden(name);
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const batchSize = Math.ceil(golden.ids.length / 2);
  await using model = await loadModel(modelOfFamily(golden), { runtime, ...asLlamaCpp, batchSize });
  expect(await familyError(model, golden)).toBeLessThan(golden.tolerance ?? gpuError);
}

async function expectSessions(factory: BackendFactory, name: string): Promise<void> {
  const bytes = familyModel(withVocabulary(readFamilyGolden(name)));
  const greedy = { temperature: 0, maxTokens: 3, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  await using host = await createRuntime({ backends: [] });
  await using model = await loadModel(bytes, { runtime, cacheType: "f32", sequences: 2 });
  await using elsewhere = await loadModel(bytes, { runtime: host, cacheType: "f32" });
  const session = model.createSession();
  const first = await session.complete({ ids: [5, 9, 31, 17, 8] }, greedy);
  const saved = await session.save();
  const ids = [5, 9, 31, 17, 8, ...first.ids, 21, 4];
  const expected = await session.fork().complete({ ids }, greedy);
  expect(expected.usage.cachedTokens).toBe(ids.length - 3);
  for (const other of [model, elsewhere]) {
    const restored = await other.restoreSession(saved);
    // States come back bit for bit.
    expect(await restored.save()).toEqual(saved);
    const next = await restored.complete({ ids }, greedy);
    expect(next.usage.cachedTokens).toBe(ids.length - 3);
    expect(next.ids).toEqual(expected.ids);
  }
}
