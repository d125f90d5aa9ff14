import { type EmbeddingModel, embed, generateText, jsonSchema, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai-6";
import { describe, expect, test } from "vitest";
import { openProviders } from "./providers.ts";

const { v3, v4 } = await openProviders();
const prompt = "Tell me a story about a fox.";
const animal = jsonSchema<{ animal: string }>({
  type: "object",
  properties: { animal: { enum: ["fox", "owl"] } },
  required: ["animal"],
  additionalProperties: false,
});

/** Apps with the AI SDK 6 have version 3 of `@ai-sdk/provider`, with the types that it takes. Here the package has those of version 4. */
const asSdk6 = <T>(model: object): T => model as T;

describe.each(v3)("the AI SDK 6 over %s", (_, centella) => {
  const options = { model: asSdk6<LanguageModel>(centella("fable")), temperature: 0, maxOutputTokens: 100, maxRetries: 0 } as const;

  test("texts, whole and streamed", async () => {
    const { text, usage } = await generateText({ ...options, prompt, maxOutputTokens: 9 });
    expect(usage.outputTokens).toBe(9);
    const streamed = streamText({ ...options, prompt, maxOutputTokens: 9 });
    let all = "";
    for await (const piece of streamed.textStream) all += piece;
    expect(all).toBe(text);
  });

  test("objects", async () => {
    const { output } = await generateText({ ...options, prompt, output: Output.object({ schema: animal }) });
    expect(output.animal).toMatch(/^(fox|owl)$/);
  });

  test("tools", async () => {
    const fed: string[] = [];
    const feed = tool({ inputSchema: animal, execute: async ({ animal }) => `fed ${fed.push(animal)}` });
    const { steps } = await generateText({
      ...options,
      prompt,
      tools: { feed },
      toolChoice: "required",
      providerOptions: { centella: { parallelToolCalls: false } },
      stopWhen: stepCountIs(2),
    });
    expect([steps.length, fed.length]).toEqual([2, 2]);
  });

  test("embeddings", async () => {
    const { embedding } = await embed({ model: asSdk6<EmbeddingModel>(centella.embeddingModel("fable")), value: "a fox" });
    expect(embedding.length).toBeGreaterThan(10);
  });
});

test("it refuses models of version 4, which is why there are both", async () => {
  const [, centella] = v4[0]!;
  await expect(generateText({ model: asSdk6<LanguageModel>(centella("fable")), prompt, maxRetries: 0 })).rejects.toThrow(
    /Unsupported model version v4/,
  );
});
