import { cuda } from "@centella/backend-cuda";
import { type BackendFactory, createRuntime } from "@centella/core";
import { isFullGrid, isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { familyGoldens, familyModel, floats, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { interpreted, opens, software } from "./gpus.ts";
import { relativeError } from "./modelFiles.ts";

/** Of f32 weights and cache, with the elementary functions of a GPU. */
const gpuError = 1e-3;

const others = familyGoldens.filter((name) => readFamilyGolden(name).ranked === undefined);
const rankers = familyGoldens.filter((name) => readFamilyGolden(name).ranked !== undefined);
/** Experts, recurrent states with a cache. */
const sample = ["gpt-oss", "jamba"];
/** A latent cache, and more kinds of recurrent states and routings. */
const more = ["deepseek2", "lfm2", "mamba2", "qwen35moe"];
const onWebgpu = isWholeGrid ? others : isFullGrid ? [...sample, ...more] : sample;
const onInterpreter = isWholeGrid ? others : isFullGrid ? ["mamba", "llama-moe"] : ["mamba"];

test.skipIf(!(await opens(software))).each(onWebgpu)(
  "%s on WebGPU computes what llama.cpp does (skipped without a device)",
  (name) => expectGolden(software, name),
  120_000,
);

test.skipIf(!(await opens(cuda()))).each(others)(
  "%s on CUDA computes what llama.cpp does (skipped without a device)",
  (name) => expectGolden(cuda(), name),
  120_000,
);

test.each(onInterpreter)("%s as interpreted PTX computes what llama.cpp does", (name) => expectGolden(interpreted, name), 120_000);

// Each takes a software GPU 40 to 65 seconds, so the sample has them as PTX alone.
test.skipIf(!(await opens(software))).each(isFullGrid ? rankers : [])(
  "%s on WebGPU scores as llama.cpp does (skipped without a device)",
  (name) => expectScores(software, name),
  120_000,
);

test.skipIf(!(await opens(cuda()))).each(rankers)(
  "%s on CUDA scores as llama.cpp does (skipped without a device)",
  (name) => expectScores(cuda(), name),
  120_000,
);

test.each(isFullGrid ? rankers : ["bert-rank"])(
  "%s as interpreted PTX scores as llama.cpp does",
  (name) => expectScores(interpreted, name),
  120_000,
);

/** Layers with states alone, and with a cache besides. The second takes a software GPU a minute. */
const recurrent = ["mamba2", "jamba"];

test.skipIf(!(await opens(software))).each(isWholeGrid ? recurrent : ["mamba2"])(
  "a session of %s on WebGPU forks, is saved and goes on (skipped without a device)",
  (name) => expectSessions(software, name),
  120_000,
);

test.skipIf(!(await opens(cuda()))).each(recurrent)(
  "a session of %s on CUDA forks, is saved and goes on (skipped without a device)",
  (name) => expectSessions(cuda(), name),
  120_000,
);

test("a session of mamba2 as interpreted PTX forks, is saved and goes on", () => expectSessions(interpreted, "mamba2"), 120_000);

async function expectGolden(factory: BackendFactory, name: string): Promise<void> {
  const golden = readFamilyGolden(name);
  const { ids, logits, mean, text, tolerance = gpuError } = golden;
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const bytes = familyModel(text === undefined ? golden : withVocabulary(golden, "t5"));
  await using model = await loadModel(bytes, { runtime, cacheType: "f32", batchSize: Math.ceil(ids.length / 2) });
  if (logits !== undefined) expect(relativeError(await model.logits(ids), floats(logits))).toBeLessThan(tolerance);
  if (mean !== undefined) {
    const [vector] = await model.embed([{ ids }], { pooling: "mean", normalize: false });
    expect(relativeError(vector!, floats(mean))).toBeLessThan(tolerance);
  }
  if (text !== undefined) {
    const finish = await model.createSession().complete({ ids }, { temperature: 0, ignoreEos: true, maxTokens: 3 });
    expect(finish.ids).toEqual(text.slice(1, 4));
  }
}

async function expectScores(factory: BackendFactory, name: string): Promise<void> {
  const golden = readFamilyGolden(name);
  const { query, documents, scores } = golden.ranked!;
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32" });
  const { results } = await model.rerank(query, documents.slice(0, 2));
  for (const { index, score } of results) expect(Math.abs(score - scores[index]!), documents[index]).toBeLessThan(gpuError);
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
