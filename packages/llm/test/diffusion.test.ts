import { readFileSync } from "node:fs";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GenerateOptions, loadModel, type Model } from "../src/index.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

interface Fixture {
  readonly mask: number;
  readonly prompt: readonly number[];
  readonly results: readonly { readonly family: string; readonly options: GenerateOptions; readonly ids: readonly number[] }[];
}

/** Texts that `scripts/diffusion_goldens.py` filled in by llama.cpp's logits. */
const { mask, prompt, results } = JSON.parse(readFileSync(new URL("fixtures/diffusion.json", import.meta.url), "utf8")) as Fixture;

let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [] });
});
afterAll(() => runtime.dispose());

function open(family: string, maskId: number | null = mask): Promise<Model> {
  const golden = withVocabulary(readFamilyGolden(family));
  const metadata = [
    ...golden.metadata,
    ["diffusion.shift_logits", "bool", family === "dream"] as const,
    ...(maskId === null ? [] : [["tokenizer.ggml.mask_token_id", "u32", maskId] as const]),
  ];
  return loadModel(familyModel({ ...golden, metadata }), { runtime });
}

const greedy = { temperature: 0, ignoreEos: true } as const;

test.each(results)("$family fills in what llama.cpp's logits say: $options", async ({ family, options, ids }) => {
  await using model = await open(family);
  const finish = await model.createSession().complete({ ids: prompt }, { ...greedy, ...options });
  expect(finish.ids).toEqual(ids);
  expect(finish).toMatchObject({ reason: "length", limit: "maxTokens", usage: { promptTokens: prompt.length, cachedTokens: 0 } });
});

test("blocks are yielded once they are filled in, and a text that is read no further computes no more", async () => {
  await using model = await open("llada");
  const { options, ids } = results[0]!;
  const session = model.createSession();
  const pieces: (readonly number[])[] = [];
  for await (const part of session.generate({ ids: prompt }, { ...greedy, ...options })) if (part.type === "text") pieces.push(part.ids);
  expect(pieces.flat()).toEqual(ids);
  for await (const part of session.generate({ ids: prompt }, { ...greedy, ...options })) {
    expect(part).toMatchObject({ type: "text", ids: ids.slice(0, 1) });
    break;
  }
  // Another text computes its own tokens, though this one began equally.
  expect((await session.complete({ ids: prompt }, { ...greedy, ...options })).ids).toEqual(ids);
});

test("sampled tokens and random orders repeat with a seed", async () => {
  await using model = await open("llada");
  const session = model.createSession();
  const sampled = (seed: number) =>
    session.complete(
      { ids: prompt },
      { seed, temperature: 1, ignoreEos: true, maxTokens: 8, diffusion: { order: "random", blockLength: 8 } },
    );
  const [first, again, other] = [await sampled(1), await sampled(1), await sampled(2)];
  expect(again.ids).toEqual(first.ids);
  expect(other.ids).not.toEqual(first.ids);
  expect(first.ids).not.toContain(mask);
});

test("a text ends with the context, and at a token that ends it", async () => {
  await using model = await open("llada");
  const session = model.createSession();
  const whole = await session.complete({ ids: prompt }, { ...greedy, diffusion: { steps: 2 } });
  expect(whole).toMatchObject({ reason: "length", limit: "context" });
  expect(whole.ids.length).toBe(model.info.contextLength - prompt.length);
  const always = await session.complete({ ids: prompt }, { temperature: 0, maxTokens: 8, logitBias: { 2: 100 } });
  expect(always).toMatchObject({ reason: "eos", ids: [2] });
});

test("a saved session and a fork fill in the same", async () => {
  await using model = await open("llada");
  const { options, ids } = results[0]!;
  const session = model.createSession();
  await session.complete({ ids: prompt }, { ...greedy, ...options });
  const restored = await model.restoreSession(await session.save());
  for (const other of [session.fork(), restored])
    expect((await other.complete({ ids: prompt }, { ...greedy, ...options })).ids).toEqual(ids);
});

test("concurrent texts do not change each other", async () => {
  await using model = await open("llada");
  const { options, ids } = results[0]!;
  const texts = [prompt, [...prompt].reverse(), prompt].map((own) =>
    model.createSession().complete({ ids: own }, { ...greedy, ...options }),
  );
  const [first, , last] = await Promise.all(texts);
  expect([first!.ids, last!.ids]).toEqual([ids, ids]);
});

test("what such models do not do is refused", async () => {
  await using model = await open("dream");
  const session = model.createSession();
  const run = (options: GenerateOptions) => session.complete({ ids: prompt }, { ...greedy, maxTokens: 4, ...options });
  await expect(run({ format: "json" })).rejects.toThrow(/format and tools: unsupported: .*any order/);
  await expect(run({ logprobs: 1 })).rejects.toThrow(/logprobs: unsupported/);
  await expect(run({ diffusion: { steps: 0 } })).rejects.toThrow(/steps/);
  await expect(run({ diffusion: { epsilon: 1 } })).rejects.toThrow(/epsilon from 0 to below 1/);
  await expect(run({ diffusion: { epsilon: 0.1, blockLength: 4 } })).rejects.toThrow(/without blockLength/);
  await expect(model.perplexity([1, 2, 3, 4, 5, 6, 7, 8])).rejects.toThrow(/perplexity: unsupported/);
  for (const maskId of [null, 40]) {
    await using unmasked = await open("dream", maskId);
    const text = unmasked.createSession().complete({ ids: prompt }, { maxTokens: 4 });
    await expect(text).rejects.toThrow(`expected tokenizer.ggml.mask_token_id from 0 to 39, got ${maskId ?? "none"}`);
  }
});

test("options of diffusion are refused by a model that generates one token after another", async () => {
  await using model = await loadModel(familyModel(withVocabulary(readFamilyGolden("internlm2"))), { runtime });
  const text = model.createSession().complete({ ids: prompt }, { maxTokens: 1, diffusion: { steps: 1 } });
  await expect(text).rejects.toThrow(/diffusion: unsupported: .*one token after another/);
});
