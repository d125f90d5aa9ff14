import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModel, type Model } from "../src/index.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

const blockTokens = 32;
const options = { temperature: 0, maxTokens: 4, logprobs: 3, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;

let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
});
afterAll(() => runtime.dispose());

const bytesOf = new Map<string, Uint8Array>();
const load = (name: string, cacheType: "f32" | "f16" | "q8_0"): Promise<Model> => {
  const bytes = bytesOf.get(name) ?? familyModel(withVocabulary(readFamilyGolden(name)));
  bytesOf.set(name, bytes);
  return loadModel(bytes, { runtime, cacheType, sequences: 3 });
};

/** An answer with the probabilities of its tokens, and the number of prompt tokens that were computed. */
async function answer(model: Model, ids: readonly number[], session = model.createSession()) {
  const tokens: unknown[] = [];
  for await (const part of session.generate({ ids }, options)) {
    if (part.type === "text") tokens.push({ ids: part.ids, logprobs: part.logprobs });
    if (part.type === "finish") return { tokens, computed: part.usage.promptTokens - part.usage.cachedTokens };
  }
  throw new Error("expected a finish, got none");
}

const shared = Array.from({ length: blockTokens + 13 }, (_, i) => 3 + ((i * 7) % 29));
const texts = [
  [...shared, 5, 6],
  [...shared, 8],
  [...shared, 9, 9, 9],
];

test.each([
  ["qwen3moe", "f32"],
  ["qwen3moe", "f16"],
  ["llama-wide", "q8_0"],
  ["granite_swa", "f16"],
  ["gemma4", "f16"],
  ["deepseek2", "f16"],
  ["deepseek4", "f16"],
  ["minimax-m3", "f16"],
  ["graniteswitch", "f16"],
] as const)("clients of %s with a cache of %s compute a common beginning once, with the same results", async (name, cacheType) => {
  await using model = await load(name, cacheType);
  const sessions = texts.map(() => model.createSession());
  for (const [i, ids] of texts.entries()) {
    await using fresh = await load(name, cacheType);
    const expected = await answer(fresh, ids);
    const got = await answer(model, ids, sessions[i]);
    expect(got.tokens).toEqual(expected.tokens);
    // Rows of block types are computed again up to the block's beginning.
    const cached = i === 0 ? 0 : cacheType === "q8_0" ? blockTokens : shared.length;
    expect(got.computed).toBe(ids.length - cached);
  }
});
