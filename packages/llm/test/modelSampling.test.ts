import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { readGguf, type WritableEntry } from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GenerateOptions, loadModel, resolveSampling, type SamplingOptions } from "../src/index.ts";
import { modelSampling } from "../src/sampling/modelSampling.ts";
import { tiny, withMetadata } from "./modelFiles.ts";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
});
afterAll(() => runtime.dispose());

const f32 = (name: string, value: number): WritableEntry => ({ key: `general.sampling.${name}`, type: "f32", value });
const i32 = (name: string, value: number): WritableEntry => ({ key: `general.sampling.${name}`, type: "i32", value });
const sequence = (value: string): WritableEntry => ({ key: "general.sampling.sequence", type: "string", value });

async function read(...entries: readonly WritableEntry[]) {
  await using file = await readGguf(await withMetadata(tiny, entries));
  return modelSampling(file.metadata);
}

describe("general.sampling.*", () => {
  test("every key of llama.cpp is read", async () => {
    const numbers = [
      f32("temp", 0.7),
      i32("top_k", 20),
      f32("top_p", 0.8),
      f32("min_p", 0),
      f32("xtc_probability", 0.5),
      f32("xtc_threshold", 0.2),
      i32("penalty_last_n", -1),
      f32("penalty_repeat", 1.05),
      i32("mirostat", 2),
      f32("mirostat_tau", 4),
      f32("mirostat_eta", 0.3),
    ];
    expect(await read(...numbers, sequence("penalties;dry;top-k;typ_p;nucleus;min_p;temp"))).toEqual({
      sampling: {
        temperature: 0.7,
        topK: 20,
        topP: 0.8,
        minP: 0,
        xtcProbability: 0.5,
        xtcThreshold: 0.2,
        repeatLastN: -1,
        repeatPenalty: 1.05,
        mirostat: 2,
        mirostatTau: 4,
        mirostatEta: 0.3,
        steps: ["penalties", "dry", "topK", "typicalP", "topP", "minP", "temperature"],
      },
      warnings: [],
    });
  });

  test("unusable values are ignored with a warning", async () => {
    const { sampling, warnings } = await read(
      f32("temp", Number.NaN),
      i32("top_k", -3),
      f32("top_p", 0.5),
      { key: "general.sampling.min_p", type: "string", value: "0.1" },
      sequence("top_k;infill"),
    );
    expect(sampling).toEqual({ topP: 0.5 });
    expect(warnings).toEqual([
      "general.sampling.temp is ignored: sampling.temperature: expected a number >= 0, got NaN",
      "general.sampling.top_k is ignored: sampling.topK: expected a whole number >= 0, got -3",
      'general.sampling.min_p is ignored: sampling.minP: expected a number in 0 … 1, got "0.1"',
      expect.stringMatching(/^general\.sampling\.sequence is ignored: sampling\.steps: .*"infill"/),
    ]);
  });
});

describe("precedence", () => {
  const resolve = (options: SamplingOptions, defaults: SamplingOptions) => resolveSampling({ seed: 1, ...options }, defaults);

  test("an option overrides the model's default, key by key", () => {
    expect(resolve({ topK: 5 }, { topK: 20, temperature: 0.6, repeatPenalty: 1.1 })).toEqual(
      resolve({ topK: 5, temperature: 0.6, repeatPenalty: 1.1 }, {}),
    );
  });

  test("temperature 0 keeps the model's penalty unless one is set, as in llama.cpp", () => {
    expect(resolve({ temperature: 0 }, { repeatPenalty: 1.1 }).repeatPenalty).toBe(1.1);
    expect(resolve({ temperature: 0, repeatPenalty: 1 }, { repeatPenalty: 1.1 }).repeatPenalty).toBe(1);
  });

  test("options that contradict a model's Mirostat or order of steps override it", () => {
    expect(resolve({}, { mirostat: 2 }).mirostat).toBe(2);
    expect(resolve({ topK: 5 }, { mirostat: 2 }).mirostat).toBe(0);
    expect(resolve({ steps: ["topK"] }, { mirostat: 2 }).mirostat).toBe(0);
    expect(resolve({ mirostat: 1 }, { topK: 5 }).mirostat).toBe(1);
    expect(resolve({}, { steps: ["topK", "temperature"] }).steps).toEqual(["topK", "temperature"]);
    expect(resolve({ minP: 0.1 }, { steps: ["topK", "temperature"] }).steps).toEqual(resolve({}, {}).steps);
  });
});

describe("a loaded model", () => {
  const text = async (source: Uint8Array | string, options: GenerateOptions) => {
    await using model = await loadModel(source, { runtime, contextLength: 64 });
    return (await model.createSession().complete({ ids: [0, 17, 300, 42] }, { maxTokens: 24, seed: 3, ...options })).ids;
  };

  test("generates with its own defaults, which options override", async () => {
    const source = await withMetadata(tiny, [f32("temp", 0), f32("penalty_repeat", 1.5)]);
    const [own, plain] = [await text(source, {}), await text(tiny, { temperature: 0 })];
    expect(own).toEqual(await text(tiny, { temperature: 0, repeatPenalty: 1.5 }));
    expect(own).not.toEqual(plain);
    expect(await text(source, { repeatPenalty: 1 })).toEqual(plain);
  });

  test("reports its defaults, and warns of unusable ones", async () => {
    const source = await withMetadata(tiny, [f32("temp", 0.7), i32("top_k", -1)]);
    await using model = await loadModel(source, { runtime, contextLength: 64 });
    expect(model.info.sampling).toEqual({ temperature: 0.7 });
    expect(model.info.warnings).toEqual([expect.stringContaining("general.sampling.top_k is ignored")]);
  });

  test("the embedded model has the sampling defaults of its model card", async () => {
    await using file = await readGguf(new URL("../../model-fable/models/fable-q4_k_m.gguf", import.meta.url));
    expect(modelSampling(file.metadata)).toEqual({ sampling: { temperature: 0.7, repeatPenalty: 1.1 }, warnings: [] });
  });
});
