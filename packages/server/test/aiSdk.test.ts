import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embed, generateText, jsonSchema, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { createHandler, type Handler } from "../src/index.ts";
import { type ScriptedModel, scripted } from "./scriptedModel.ts";
import { fetchFrom, TestModel } from "./serving.ts";

const prompt = "Tell me a story about a fox.";
const messages = [{ role: "user", content: prompt }];
const animal = jsonSchema<{ animal: string }>({
  type: "object",
  properties: { animal: { type: "string", enum: ["fox", "owl"] } },
  required: ["animal"],
  additionalProperties: false,
});

const served = await TestModel.forFile();
const handler = served.handler();

const compatible = (given: Handler): ReturnType<typeof createOpenAICompatible> =>
  createOpenAICompatible({
    name: "centella",
    baseURL: "http://localhost/v1",
    fetch: fetchFrom(given),
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
const openai = (given: Handler): ReturnType<typeof createOpenAI> =>
  createOpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch: fetchFrom(given) });

const providers: Readonly<Record<string, (given: Handler) => LanguageModel>> = {
  "@ai-sdk/openai-compatible": (given) => compatible(given)("fable"),
  "@ai-sdk/openai, chat completions": (given) => openai(given).chat("fable"),
  "@ai-sdk/openai, responses": (given) => openai(given).responses("fable"),
};

describe.each(Object.entries(providers))("%s", (_, modelOf) => {
  const ask = (): { model: LanguageModel; prompt: string; maxRetries: 0 } => ({ model: modelOf(handler), prompt, maxRetries: 0 });

  test("texts, whole and streamed, with their usage", async () => {
    const own = await served.model.createSession().complete(messages, { maxTokens: 16, temperature: 0 });
    const options = { ...ask(), maxOutputTokens: 16, temperature: 0 };
    const whole = await generateText(options);
    expect([whole.text, whole.finishReason, whole.usage.outputTokens]).toEqual([own.text, "length", 16]);
    const streamed = streamText(options);
    let text = "";
    for await (const piece of streamed.textStream) text += piece;
    expect(text).toBe(own.text);
    expect((await streamed.usage).inputTokens).toBe(own.usage.promptTokens);
  });

  test("objects", async () => {
    const { output } = await generateText({ ...ask(), output: Output.object({ schema: animal }) });
    expect(output.animal).toMatch(/^(fox|owl)$/);
  });

  test("a tool that the model must call", async () => {
    const fed: string[] = [];
    const execute = async ({ animal }: { readonly animal: string }): Promise<string> => `fed ${fed.push(animal)}`;
    const feed = tool({ description: "Feeds an animal.", strict: true, inputSchema: animal, execute });
    const result = streamText({
      ...ask(),
      tools: { feed },
      toolChoice: { type: "tool", toolName: "feed" },
      providerOptions: { centella: { parallel_tool_calls: false }, openai: { parallelToolCalls: false, store: false } },
      temperature: 0,
      maxOutputTokens: 100,
    });
    await result.consumeStream();
    expect(await result.finishReason).toBe("tool-calls");
    expect(fed).toEqual([expect.stringMatching(/^(fox|owl)$/)]);
  });

  test("a loop of tools", async () => {
    const { model, prompts }: ScriptedModel = scripted(served, [
      { calls: [{ name: "feed", arguments: { animal: "owl" } }] },
      { text: "The owl is full." },
    ]);
    const looping = createHandler({ models: { fable: model } });
    const result = await generateText({
      ...ask(),
      model: modelOf(looping),
      tools: { feed: tool({ inputSchema: animal, execute: async ({ animal }) => `fed the ${animal}` }) },
      providerOptions: { openai: { store: false } },
      stopWhen: stepCountIs(3),
    });
    expect([result.text, result.steps.length]).toEqual(["The owl is full.", 2]);
    expect(prompts[1]).toMatchObject([
      { role: "user", content: prompt },
      { role: "assistant", tool_calls: [{ id: "call_0", function: { name: "feed", arguments: '{"animal":"owl"}' } }] },
      { role: "tool", tool_call_id: "call_0", content: "fed the owl" },
    ]);
    await looping.close();
  });
});

test.each([
  ["@ai-sdk/openai-compatible", (given: Handler) => compatible(given)("fable")],
  ["@ai-sdk/openai, responses", (given: Handler) => openai(given).responses("fable")],
] as const)("%s: reasoning, whole and streamed, and its tokens", async (_, modelOf) => {
  const answer = { reasoning: "Foxes are sly.", text: "A fox ran." };
  const reasoning = createHandler({ models: { fable: scripted(served, [answer, answer]).model } });
  const providerOptions = { openai: { forceReasoning: true, reasoningSummary: "auto", store: false } };
  const options = { model: modelOf(reasoning), prompt, maxRetries: 0, providerOptions };
  const whole = await generateText(options);
  expect([whole.reasoningText, whole.text]).toEqual([answer.reasoning, answer.text]);
  expect(whole.usage).toMatchObject({ inputTokenDetails: { cacheReadTokens: 3 }, outputTokenDetails: { reasoningTokens: 1 } });
  const streamed = streamText(options);
  expect([await streamed.reasoningText, await streamed.text]).toEqual([answer.reasoning, answer.text]);
  await reasoning.close();
});

test("embeddings", async () => {
  const [own] = await served.model.embed(["a fox"]);
  for (const model of [compatible(handler).embeddingModel("fable"), openai(handler).embedding("fable")]) {
    const { embedding, usage } = await embed({ model, value: "a fox" });
    expect(embedding).toEqual([...own!]);
    expect(usage.tokens).toBe(served.model.tokenizer.encode("a fox").length);
  }
});
