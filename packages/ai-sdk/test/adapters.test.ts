import { AISDKError, InvalidArgumentError } from "@ai-sdk/provider";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { embed, generateText, rerank } from "ai";
import { describe, expect, test } from "vitest";
import { strongAdapter } from "../../llm/test/strongAdapter.ts";
import { type CentellaProvider, centellaModel, createCentella } from "../src/index.ts";
import { startWorker, tiny } from "./place.ts";

const adapter = await strongAdapter(tiny);
const load = { contextLength: 256 };
const models = { fable: { source: tiny, load, adapters: { sea: adapter, hill: { source: adapter, scale: 0 } } }, plain: tiny };

async function textOf(centella: CentellaProvider<"fable" | "plain">, own: object = {}): Promise<string> {
  const model = centella("fable");
  const call = { model, prompt: "Tell me a story about a fox.", temperature: 0, maxOutputTokens: 12, maxRetries: 0 };
  return (await generateText({ ...call, providerOptions: { centella: { ...own } } })).text;
}

describe("a call's adapter", () => {
  test.each(["a runtime", "a worker"])("changes its text alone, over %s", async (place) => {
    await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
    const worker = startWorker();
    await using centella = createCentella({ models, ...(place === "a worker" ? { worker } : { runtime }) });
    const plain = await textOf(centella);
    const changed = await textOf(centella, { adapter: "sea" });
    expect(changed).not.toBe(plain);
    expect(await textOf(centella, { adapter: "hill" })).toBe(plain);
    expect(await textOf(centella, { adapter: "sea" })).toBe(changed);
    // All calls share one engine.
    const loaded = await centella.load("fable");
    expect(loaded.info.adapters).toEqual(["sea", "hill"]);
    await centella.unload("fable");
    await expect(loaded.embed(["a fox"])).rejects.toThrow(/disposed|dispose\(\)/);
    await worker.terminate();
  });

  test("changes embeddings, and an option of the model that is always active stays", async () => {
    await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
    const always = { ...models.fable, load: { ...load, adapters: [{ source: adapter }] } };
    await using centella = createCentella({ models: { ...models, always }, runtime });
    const vectorOf = async (id: "fable" | "always", own: object) =>
      (await embed({ model: centella.embeddingModel(id), value: "a fox", providerOptions: { centella: { ...own } }, maxRetries: 0 }))
        .embedding;
    const [plain, sea, both] = [
      await vectorOf("fable", {}),
      await vectorOf("fable", { adapter: "sea" }),
      await vectorOf("always", { adapter: "sea" }),
    ];
    expect(sea).not.toEqual(plain);
    expect(both).not.toEqual(sea);
    expect(await vectorOf("always", { adapter: "hill" })).toEqual(sea);
  });
});

test("unknown adapters are refused before anything is loaded, and the message lists the known ones", async () => {
  await using runtime = await createRuntime({ backends: [] });
  const centella = createCentella({ models: { ...models, missing: { ...models.fable, source: "missing.gguf" } }, runtime });
  const providerOptions = { centella: { adapter: "moon" } };
  const message = /^adapter: expected one of the adapters sea, hill, got moon; name it in the adapters of the model missing$/;
  const calls: readonly (() => PromiseLike<unknown>)[] = [
    () => generateText({ model: centella("missing"), prompt: "Hello!", providerOptions, maxRetries: 0 }),
    () => embed({ model: centella.embeddingModel("missing"), value: "a", providerOptions, maxRetries: 0 }),
    () => rerank({ model: centella.rerankingModel("missing"), query: "a", documents: ["b"], providerOptions, maxRetries: 0 }),
    () => centella.decisionModel("missing").doDecide({ state: [], questions: {}, providerOptions }),
  ];
  for (const call of calls) {
    const error = await call().then(
      () => undefined,
      (error: Error) => error,
    );
    expect(error?.message).toMatch(message);
    expect(InvalidArgumentError.isInstance(error)).toBe(true);
  }
  const none = generateText({ model: centella("plain"), prompt: "Hello!", providerOptions, maxRetries: 0 });
  await expect(none).rejects.toThrow(/^adapter: expected no adapter, got moon; name it in the adapters of the model plain$/);
});

test("models that were loaded elsewhere have the adapters that they were loaded with", async () => {
  const loaded = { info: { name: "loaded", adapters: ["hill"] }, createSession: (options: object) => expect.fail(JSON.stringify(options)) };
  const model = centellaModel(loaded as never);
  const call = { prompt: [], providerOptions: { centella: { adapter: "sea" } } };
  await expect(model.doGenerate(call)).rejects.toThrow(/^adapter: expected one of the adapters hill, got sea; load the model with it/);
  await expect(model.doGenerate(call)).rejects.toThrow(AISDKError);
  const own = { prompt: [], providerOptions: { centella: { adapter: "hill" } } };
  await expect(model.doGenerate(own)).rejects.toThrow('{"adapters":{"hill":1}}');
});

test("options of a model that do not exist are refused", async () => {
  await using runtime = await createRuntime({ backends: [] });
  const wrong = { source: tiny, adapter: { sea: adapter } } as never;
  expect(() => createCentella({ models: { fable: wrong }, runtime })).toThrow(/^createCentella\.models\.fable: .*got adapter/);
});
