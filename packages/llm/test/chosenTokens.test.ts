import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GenerateOptions, loadModel, type Model, resolveSampling, SamplingError, type SamplingOptions } from "../src/index.ts";
import { argmax } from "../src/sampling/candidates.ts";
import { deviceSampling, requireChoice } from "../src/sampling/deviceSampling.ts";
import { Scheduler } from "../src/scheduler/scheduler.ts";
import { tiny } from "./modelFiles.ts";

let runtime: Runtime;
let model: Model;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 2 })], policy: { force: "wasm" } });
  model = await loadModel(tiny, { runtime, contextLength: 256, sequences: 6, batchSize: 4 });
});
afterAll(async () => {
  await model.dispose();
  await runtime.dispose();
});

const prompt = (first: number): readonly number[] => [first, 17, 300, 42, 7];
/** Nothing but the most likely tokens, by their numbers alone and by their logits. */
const greedy: GenerateOptions = { temperature: 0, maxTokens: 24 };
const byLogits: GenerateOptions = { ...greedy, logitBias: { 3: 0 } };
const drawn: GenerateOptions = { temperature: 0.9, seed: 5, maxTokens: 24 };

const complete = async (first: number, options: GenerateOptions): Promise<readonly number[]> =>
  (await model.createSession().complete({ ids: prompt(first) }, options)).ids;

test("greedy tokens that the device computes have the greatest logits", async () => {
  const ids = await complete(20, greedy);
  expect(ids).toEqual(await complete(20, byLogits));
  const { vocabSize } = model.info;
  const logits = await model.logits([...prompt(20), ...ids]);
  ids.forEach((id, i) => {
    const row = prompt(20).length - 1 + i;
    expect(argmax(logits.subarray(row * vocabSize, (row + 1) * vocabSize)), `token ${i}`).toBe(id);
  });
});

const sampled: readonly (readonly [string, GenerateOptions])[] = [
  ["default options", {}],
  ["temperature alone", { temperature: 1.3, topK: 0, topP: 1, minP: 0 }],
  ["top-k alone", { temperature: 1, topK: 7, topP: 1, minP: 0 }],
  ["top-p alone", { temperature: 1, topK: 0, topP: 0.9, minP: 0 }],
  ["min-p alone", { temperature: 2, topK: 0, topP: 1, minP: 0.1 }],
  ["fewer steps", { steps: ["topK", "temperature"], topK: 300, temperature: 1.1 }],
  ["a format", { temperature: 1.5, format: { regex: "[a-z]+( [a-z]+){3,9}" } }],
  ["a seed of 53 bits", { seed: 2 ** 53 - 1 }],
  ["drafts", { promptLookup: 4, temperature: 0.4 }],
  ["a context that shifts", { maxTokens: 300, overflow: { generation: "shift" } }],
];

test.each(sampled)("the device samples the text that the host samples: %s", async (_, options) => {
  const all: GenerateOptions = { seed: 11, maxTokens: 24, ...options };
  const feed = vi.spyOn(Scheduler.prototype, "feed");
  const onDevice = await complete(40, all);
  expect(feed.mock.calls.filter(([, , { rows }]) => rows !== "none")).toEqual([]);
  const onHost = await complete(40, { ...all, logitBias: { 3: 0 } });
  expect(feed).toHaveBeenCalled();
  feed.mockRestore();
  expect(onDevice).toEqual(onHost);
  expect(new Set(onDevice).size).toBeGreaterThan(4);
});

test("options that need logits are left to the host", () => {
  const chosenBy = (options: SamplingOptions) => deviceSampling(resolveSampling({ seed: 1, ...options }));
  expect(chosenBy({})).toEqual({ seed: [1, 0], temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 });
  expect(chosenBy({ steps: ["topP"] })).toEqual({ seed: [1, 0], temperature: 1, topK: 0, topP: 0.95, minP: 0 });
  expect(chosenBy({ temperature: 0, steps: ["temperature", "topK"] })).toMatchObject({ temperature: 0 });
  for (const options of [
    { repeatPenalty: 1.1 },
    { dryMultiplier: 0.8 },
    { topNSigma: 1 },
    { typicalP: 0.9 },
    { xtcProbability: 0.5 },
    { mirostat: 2 },
    { dynamicTemperatureRange: 0.3 },
    { logitBias: { 3: 1 } },
    { steps: ["temperature", "topP"] },
    { steps: ["topP", "topK"] },
  ] satisfies readonly SamplingOptions[])
    expect([options, chosenBy(options)]).toEqual([options, undefined]);
});

test("texts with and without logits on the host share runs, and each is the same as alone", async () => {
  const formatted: GenerateOptions = { ...drawn, format: { regex: "[a-z ]{9,40}" } };
  const options: readonly GenerateOptions[] = [
    greedy,
    drawn,
    byLogits,
    formatted,
    { ...greedy, promptLookup: 4 },
    { ...drawn, topK: 3 },
    { ...drawn, typicalP: 0.9 },
  ];
  const wanted = options.map((options, i) => ({ options, first: 20 + i }));
  const alone: (readonly number[])[] = [];
  for (const { first, options } of wanted) alone.push(await complete(first, options));
  expect(await Promise.all(wanted.map(({ first, options }) => complete(first, options)))).toEqual(alone);
});

test("a text ends with an error where the device has no token to choose", async () => {
  const choosing = vi.spyOn(Scheduler.prototype, "feedChoosing").mockResolvedValueOnce(Int32Array.of(-1));
  await expect(complete(20, drawn)).rejects.toThrow(SamplingError);
  choosing.mockRestore();
  expect(await complete(20, drawn)).toHaveLength(24);
});

test("a row without a token to choose fails with the reason", () => {
  expect(requireChoice(0)).toBe(0);
  expect(() => requireChoice(-1)).toThrow(/sample: expected finite logits .* got NaN, Infinity or none/);
});
