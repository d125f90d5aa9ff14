import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embed, generateText, jsonSchema, Output, streamText, tool } from "ai";
import { expect, test } from "vitest";
import { fetchFrom, TestModel } from "./serving.ts";

const prompt = "Tell me a story about a fox.";
const messages = [{ role: "user", content: prompt }];

const served = await TestModel.forFile();
const handler = served.handler();
const fetch = fetchFrom(handler);
const provider = createOpenAICompatible({
  name: "centella",
  baseURL: "http://localhost/v1",
  fetch,
  includeUsage: true,
  supportsStructuredOutputs: true,
});

test("texts, whole and streamed, with their usage", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 10, temperature: 0 });
  const options = { model: provider("fable"), prompt, maxOutputTokens: 10, temperature: 0, maxRetries: 0 };
  const whole = await generateText(options);
  expect([whole.text, whole.finishReason, whole.usage.outputTokens]).toEqual([own.text, "length", 10]);
  const streamed = streamText(options);
  let text = "";
  for await (const piece of streamed.textStream) text += piece;
  expect(text).toBe(own.text);
  expect((await streamed.usage).inputTokens).toBe(own.usage.promptTokens);
});

test("objects", async () => {
  const schema = jsonSchema<{ animal: string }>({
    type: "object",
    properties: { animal: { enum: ["fox", "owl"] } },
    required: ["animal"],
    additionalProperties: false,
  });
  const { output } = await generateText({ model: provider("fable"), prompt, output: Output.object({ schema }), maxRetries: 0 });
  expect(output.animal).toMatch(/^(fox|owl)$/);
});

test("tools", async () => {
  const inputSchema = jsonSchema<{ animal: string }>({
    type: "object",
    properties: { animal: { enum: ["fox", "owl"] } },
    required: ["animal"],
    additionalProperties: false,
  });
  const fed: string[] = [];
  const feed = tool({ description: "Feeds an animal.", inputSchema, execute: async ({ animal }) => `fed ${fed.push(animal)}` });
  const result = streamText({
    model: provider("fable"),
    prompt,
    tools: { feed },
    toolChoice: { type: "tool", toolName: "feed" },
    providerOptions: { centella: { parallel_tool_calls: false } },
    temperature: 0,
    maxOutputTokens: 100,
    maxRetries: 0,
  });
  await result.consumeStream();
  expect(await result.finishReason).toBe("tool-calls");
  expect(fed).toHaveLength(1);
});

test("embeddings", async () => {
  const [own] = await served.model.embed(["a fox"]);
  const { embedding, usage } = await embed({ model: provider.embeddingModel("fable"), value: "a fox" });
  expect(embedding).toEqual([...own!]);
  expect(usage.tokens).toBe(served.model.tokenizer.encode("a fox").length);
});
