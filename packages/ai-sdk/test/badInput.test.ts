import {
  AISDKError,
  InvalidArgumentError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Message,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { createRuntime } from "@centella/core";
import { ContextOverflowError } from "@centella/llm";
import { generateText } from "ai";
import { describe, expect, test } from "vitest";
import { centellaModel, createCentella } from "../src/index.ts";
import { openProviders } from "./providers.ts";

const { v4 } = await openProviders();
const [, centella] = v4[0]!;
const model = centella.languageModel("fable");
const user: LanguageModelV4Message = { role: "user", content: [{ type: "text", text: "Hello!" }] };
const call = (options: Partial<LanguageModelV4CallOptions>) => ({ prompt: [user], maxOutputTokens: 1, ...options });

/** The error of a call, which must be the same for both ways of calling. */
async function errorOf(options: Partial<LanguageModelV4CallOptions>): Promise<Error> {
  const [whole, streamed] = await Promise.all(
    [model.doGenerate(call(options)), model.doStream(call(options))].map(async (result) => {
      try {
        await result;
      } catch (error) {
        return error as Error;
      }
      return new Error("no error");
    }),
  );
  expect(streamed!.message).toBe(whole!.message);
  return whole!;
}

describe("calls that cannot be done", () => {
  test.each([
    [
      "a file",
      { prompt: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: { type: "data", data: "" } }] }] },
      /file part of type image\/png/,
    ],
    [
      "a tool of a provider",
      { tools: [{ type: "provider", id: "web.search", name: "search", args: {} }] },
      /tool web\.search: only functions/,
    ],
    [
      "a choice that names no tool",
      { tools: [{ type: "function", name: "feed", inputSchema: {} }], toolChoice: { type: "tool", toolName: "eat" } },
      /toolChoice eat: there is no such tool; choose one of feed/,
    ],
  ] satisfies readonly (readonly [string, Partial<LanguageModelV4CallOptions>, RegExp])[])("%s", async (_, options, message) => {
    const error = await errorOf(options);
    expect(UnsupportedFunctionalityError.isInstance(error)).toBe(true);
    expect(error.message).toMatch(message);
  });

  test.each([
    ["an option outside its range", { temperature: -1 }, /temperature/],
    ["an unknown option of the engine", { providerOptions: { centella: { minp: 0.1 } } }, /^providerOptions\.centella: .*got minp/],
    ["options that are none", { providerOptions: { centella: 5 as never } }, /^providerOptions\.centella: expected an object/],
    ["a schema that no text matches", { responseFormat: { type: "json", schema: false as never } }, /schema/],
  ] satisfies readonly (readonly [string, Partial<LanguageModelV4CallOptions>, RegExp])[])("%s", async (_, options, message) => {
    const error = await errorOf(options);
    expect(AISDKError.isInstance(error)).toBe(true);
    expect(error.message).toMatch(message);
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("errors of arguments are the AI SDK's", async () => {
    expect(InvalidArgumentError.isInstance(await errorOf({ topP: 7 }))).toBe(true);
  });

  test("a prompt beyond the context, with the engine's error as the cause", async () => {
    const error = await errorOf({ prompt: [{ role: "user", content: [{ type: "text", text: "fox ".repeat(3000) }] }] });
    expect(error.cause).toBeInstanceOf(ContextOverflowError);
  });

  test("an aborted call, with the signal's reason", async () => {
    const reason = new Error("too late");
    expect(await errorOf({ abortSignal: AbortSignal.abort(reason) })).toBe(reason);
  });
});

test("a picture is refused before it is fetched", async () => {
  const image = new URL("https://centella.invalid/fox.png");
  const asked = generateText({ model, messages: [{ role: "user", content: [{ type: "image", image }] }], maxRetries: 0 });
  await expect(asked).rejects.toThrow(/^file part of type image/);
});

test.each(["high", "max"] as const)("what is not done is a warning: reasoning at the level %s", async (reasoning) => {
  const { warnings } = await model.doGenerate(
    call({ reasoning, tools: [{ type: "function", name: "feed", inputSchema: {}, inputExamples: [{ input: {} }] }] }),
  );
  expect(warnings.flatMap((warning) => ("feature" in warning ? [warning.feature] : []))).toEqual([
    "inputExamples of tool feed",
    "reasoning",
  ]);
});

describe("providers", () => {
  test("know their models", () => {
    for (const get of [centella.languageModel, centella.embeddingModel, centella.rerankingModel, centella]) {
      expect(() => get("owl" as never)).toThrow(NoSuchModelError);
      expect(() => get("owl" as never)).toThrow(/expected one of the models fable, got owl; name it in the option models/);
    }
    expect(() => centella.imageModel("fable")).toThrow(NoSuchModelError);
  });

  test("refuse options that are wrong", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const models = { a: "a.gguf" };
    expect(() => createCentella({ models } as never)).toThrow(/either a runtime or a worker, got neither/);
    expect(() => createCentella({ models, runtime, worker: {} } as never)).toThrow(/got both/);
    expect(() => createCentella({ models, runtime, model: "a" } as never)).toThrow(/got model/);
    expect(() => createCentella({ models, runtime, defaults: { topA: 1 } as never })).toThrow(/^createCentella\.defaults: .*got topA/);
  });

  test("drop no option that a worker cannot have", async () => {
    const worker = { postMessage: () => undefined, addEventListener: () => undefined, removeEventListener: () => undefined };
    const cache = { names: async () => [] } as never;
    const provider = createCentella({ worker, models: { a: { source: "a.gguf", load: { cache } } } });
    await expect(provider.load("a")).rejects.toThrow(/^loadModel\.cache: expected true or false|cache to be true or false/);
  });

  test("end calls that are aborted while their model is loaded", async () => {
    await using runtime = await createRuntime({ backends: [] });
    let endLoads = (_: Error): void => undefined;
    const read = new Promise<never>((_, reject) => {
      endLoads = reject;
    });
    const source = { size: 100, read: () => read };
    const slow = createCentella({ models: { a: { source } }, runtime });
    const reason = new Error("too late");
    const calls: readonly ((abortSignal: AbortSignal) => PromiseLike<unknown>)[] = [
      (abortSignal) => slow("a").doGenerate(call({ abortSignal })),
      (abortSignal) => slow("a").doStream(call({ abortSignal })),
      (abortSignal) => slow.embeddingModel("a").doEmbed({ values: ["a"], abortSignal }),
      (abortSignal) => slow.rerankingModel("a").doRerank({ query: "a", documents: { type: "text", values: ["a"] }, abortSignal }),
      (abortSignal) => slow.decisionModel("a").doDecide({ state: [], questions: {}, abortSignal }),
    ];
    for (const start of calls) {
      const controller = new AbortController();
      const started = start(controller.signal);
      controller.abort(reason);
      await expect(started).rejects.toBe(reason);
    }
    endLoads(reason);
  });

  test("try a load again that failed", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const missing = createCentella({ models: { a: "missing.gguf" }, runtime });
    for (let i = 0; i < 2; i++) await expect(missing.load("a")).rejects.toThrow(/missing\.gguf/);
    await expect(missing("a").doGenerate(call({}))).rejects.toThrow(AISDKError);
  });
});

test("a loaded model is a model of the AI SDK, with defaults of its own", async () => {
  const loaded = await centella.load("fable");
  const own = centellaModel(loaded, { maxTokens: 3, temperature: 0 });
  const { usage } = await own.doGenerate({ prompt: [user] });
  expect([own.modelId, usage.outputTokens.total]).toEqual([loaded.info.name, 3]);
});
