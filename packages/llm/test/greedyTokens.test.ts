import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GenerateOptions, loadModel, type Model } from "../src/index.ts";
import { argmax, requireChoice } from "../src/sampling/candidates.ts";
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

test("texts with and without logits on the host share runs, and each is the same as alone", async () => {
  const wanted = [greedy, drawn, byLogits, greedy, { ...greedy, promptLookup: 4 }, drawn].map((options, i) => ({ options, first: 20 + i }));
  const alone: (readonly number[])[] = [];
  for (const { first, options } of wanted) alone.push(await complete(first, options));
  expect(await Promise.all(wanted.map(({ first, options }) => complete(first, options)))).toEqual(alone);
});

test("greedy tokens with invalid logits fail with the same error as on the host", () => {
  for (const logits of [
    [1, Number.NaN, Number.NaN],
    [1, Number.POSITIVE_INFINITY],
    [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ]) {
    const row = Float32Array.from(logits);
    const best = logits.findIndex(Number.isNaN) >= 0 ? logits.findIndex(Number.isNaN) : logits.indexOf(Math.max(...logits));
    let error: unknown;
    try {
      argmax(row);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(Error);
    expect(() => requireChoice(best, logits[best]!, logits.length)).toThrow((error as Error).message);
  }
});
