import { experimental_decide, type JSONSchema7, type ModelMessage } from "ai";
import { generateText as generateText6 } from "ai-6";
import { describe, expect, test } from "vitest";
import { openProviders } from "./providers.ts";
import { versionsOf } from "./versions.ts";

const providers = await openProviders();
const prompt = "Tell me a story about a fox.";
const animalSchema: JSONSchema7 = {
  type: "object",
  properties: { animal: { enum: ["fox", "owl"] } },
  required: ["animal"],
  additionalProperties: false,
};
const oneCall = { providerOptions: { centella: { parallelToolCalls: false } }, maxOutputTokens: 100, temperature: 0, maxRetries: 0 };

describe.each(versionsOf(providers))("the AI SDK %s", (_, sdk, centella) => {
  const { createProviderRegistry, embedMany, generateText, Output, stepCountIs, streamText, ToolLoopAgent, tool } = sdk;
  const animal = sdk.jsonSchema<{ animal: string }>(animalSchema);
  const greedy = { model: centella("fable"), temperature: 0, maxRetries: 0 } as const;

  test("texts are those of the engine, whole and streamed, with their usage", async () => {
    const model = await centella.load("fable");
    const own = await model.createSession().complete([{ role: "user", content: prompt }], { maxTokens: 12, temperature: 0 });
    const whole = await generateText({ ...greedy, prompt, maxOutputTokens: 12 });
    expect([whole.text, whole.finishReason, whole.usage.outputTokens]).toEqual([own.text, "length", 12]);
    expect(whole.usage.inputTokens).toBe(own.usage.promptTokens);
    const streamed = streamText({ ...greedy, prompt, maxOutputTokens: 12 });
    let text = "";
    for await (const piece of streamed.textStream) text += piece;
    expect(text).toBe(own.text);
    const { inputTokens, inputTokenDetails } = await streamed.usage;
    expect(inputTokens).toBe(own.usage.promptTokens);
    expect(inputTokenDetails.cacheReadTokens! + inputTokenDetails.noCacheTokens!).toBe(inputTokens);
    expect((await streamed.providerMetadata)?.centella).toMatchObject({ backend: "wasm", seed: expect.any(Number) });
  });

  test("stop sequences, seeds and the engine's own options take effect", async () => {
    const options = { model: centella("fable"), prompt, maxOutputTokens: 20, seed: 5, temperature: 1, maxRetries: 0 };
    const first = await generateText(options);
    expect((await generateText(options)).text).toBe(first.text);
    const word = first.text.split(" ")[3]!;
    const stopped = await generateText({ ...options, stopSequences: [word] });
    expect(stopped.finishReason).toBe("stop");
    expect(first.text.startsWith(stopped.text)).toBe(true);
    const likely = await generateText({ ...options, providerOptions: { centella: { minP: 1, logprobs: 2 } } });
    expect(likely.text).toBe((await generateText({ ...options, temperature: 0 })).text);
    expect(likely.providerMetadata?.centella).toMatchObject({ logprobs: expect.any(Array) });
  });

  test("objects, arrays, choices and JSON", async () => {
    const object = await generateText({ ...greedy, prompt, output: Output.object({ schema: animal }) });
    expect(object.output.animal).toMatch(/^(fox|owl)$/);
    const elements: number[] = [];
    const array = streamText({
      ...greedy,
      prompt,
      output: Output.array({ element: sdk.jsonSchema<number>({ type: "integer", minimum: 0, maximum: 9 }) }),
    });
    for await (const each of array.elementStream) if (elements.push(each) === 3) break;
    expect(elements.every((each) => Number.isInteger(each) && each >= 0 && each <= 9)).toBe(true);
    const json = streamText({ ...greedy, prompt, maxOutputTokens: 20, output: Output.json() });
    for await (const _ of json.partialOutputStream);
    expect(await json.text).toMatch(/^[[{"\d-]|^(true|false|null)/);
    const choice = await generateText({ ...greedy, prompt, output: Output.choice({ options: ["yes", "no"] }) });
    expect(choice.output).toMatch(/^(yes|no)$/);
    const streamed = streamText({ ...greedy, prompt, output: Output.object({ schema: animal }) });
    const values: unknown[] = [];
    for await (const partial of streamed.partialOutputStream) values.push(partial);
    expect(values.at(-1)).toEqual(await streamed.output);
  });

  test("tools are called, and the model goes on with their results", async () => {
    const fed: string[] = [];
    const feed = tool({ description: "Feeds an animal.", inputSchema: animal, execute: async ({ animal }) => `fed ${fed.push(animal)}` });
    const { steps } = await generateText({
      ...greedy,
      ...oneCall,
      prompt,
      tools: { feed },
      stopWhen: stepCountIs(2),
      prepareStep: ({ stepNumber }) => (stepNumber === 0 ? { toolChoice: "required" } : { toolChoice: "none" }),
    });
    expect(fed).toHaveLength(1);
    expect(steps.map(({ finishReason }) => finishReason)[0]).toBe("tool-calls");
    expect(steps[0]!.toolResults[0]!.output).toBe("fed 1");
    expect(steps).toHaveLength(2);
    const streamed = streamText({ ...greedy, ...oneCall, prompt, tools: { feed }, toolChoice: { type: "tool", toolName: "feed" } });
    await streamed.consumeStream();
    expect(await streamed.finishReason).toBe("tool-calls");
    expect(fed).toHaveLength(2);
  });

  test("a tool that needs approval is not called before it has it", async () => {
    let calls = 0;
    const feed = tool({ inputSchema: animal, needsApproval: true, execute: async () => ++calls });
    const options = { ...greedy, ...oneCall, tools: { feed } } as const;
    const asked = await generateText({ ...options, prompt, toolChoice: "required" });
    const request = asked.content.find((part) => part.type === "tool-approval-request")!;
    expect([request.toolCall.toolName, calls]).toEqual(["feed", 0]);
    for (const approved of [false, true]) {
      const messages: ModelMessage[] = [
        { role: "user", content: prompt },
        ...asked.response.messages,
        { role: "tool", content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved }] },
      ];
      await generateText({ ...options, messages, toolChoice: "none", maxOutputTokens: 5 });
      expect(calls).toBe(approved ? 1 : 0);
    }
  });

  test("an agent", async () => {
    const feed = tool({ inputSchema: animal, execute: async ({ animal }) => `The ${animal} is full.` });
    const agent = new ToolLoopAgent({ ...greedy, ...oneCall, tools: { feed }, toolChoice: "required", stopWhen: stepCountIs(2) });
    const { steps } = await agent.generate({ prompt });
    expect(steps).toHaveLength(2);
  });

  test("embeddings", async () => {
    const model = await centella.load("fable");
    const own = await model.embed(["a fox", "an owl"]);
    const { embeddings, usage } = await embedMany({ model: centella.embeddingModel("fable"), values: ["a fox", "an owl"] });
    expect(embeddings).toEqual(own.map((vector) => [...vector]));
    expect(usage.tokens).toBeGreaterThan(2);
  });

  test("a registry and middleware", async () => {
    const registry = createProviderRegistry({ centella });
    const named = await generateText({ ...greedy, model: registry.languageModel("centella:fable"), prompt, maxOutputTokens: 5 });
    const model = sdk.wrapLanguageModel({ model: centella("fable"), middleware: sdk.extractReasoningMiddleware({ tagName: "think" }) });
    expect((await generateText({ ...greedy, model, prompt, maxOutputTokens: 5 })).text).toBe(named.text);
  });

  test("an abort ends the text, and the next call works", async () => {
    const controller = new AbortController();
    const streamed = streamText({ ...greedy, prompt, abortSignal: controller.signal });
    const types: string[] = [];
    for await (const part of streamed.fullStream) {
      types.push(part.type);
      if (part.type === "text-delta") controller.abort();
    }
    expect(types).toContain("abort");
    expect((await generateText({ ...greedy, prompt, maxOutputTokens: 3 })).usage.outputTokens).toBe(3);
  });

  test("a second turn computes little more than its new tokens", async () => {
    const first = await generateText({ ...greedy, prompt, maxOutputTokens: 100 });
    const messages = [{ role: "user", content: prompt } as const, ...first.response.messages, { role: "user", content: "More." } as const];
    const { usage } = await generateText({ ...greedy, messages, maxOutputTokens: 3 });
    expect(usage.inputTokenDetails.noCacheTokens).toBeLessThanOrEqual(32 + 20);
  });
});

describe.each(providers.v4)("the AI SDK 7 over %s", (_, centella) => {
  test("decisions, with the probabilities of all options", async () => {
    const criteria = { fox: "a red animal", owl: "a bird", cat: null };
    const { answers } = await experimental_decide({
      model: centella.decisionModel("fable"),
      state: "The animal sat in the tree and said hoo.",
      questions: {
        animal: { type: "choice", instructions: "Which animal is it?", criteria },
        loud: { type: "score", instructions: "How loud was it?", criteria: ["silent", "quiet", "loud"] },
        bird: { type: "boolean", instructions: "Is it a bird?" },
      },
    });
    const { animal, loud, bird } = answers;
    if (animal.type !== "choice" || loud.type !== "score" || bird.type !== "boolean") throw new Error("a question was refused");
    const probabilities = Object.values(animal.probabilities!);
    expect(Object.keys(animal.probabilities!)).toEqual(Object.keys(criteria));
    expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1);
    expect(animal.probabilities![animal.choice]).toBe(Math.max(...probabilities));
    expect(loud.score).toBeCloseTo(loud.probabilities![1]! + 2 * loud.probabilities![2]!);
    expect(bird.probability).toBeGreaterThan(0);
    expect(bird.probability).toBeLessThan(1);
  });
});

test("the AI SDK 6 refuses models of version 4, which is why there are both", async () => {
  const model = providers.v4[0]![1]("fable") as object as Parameters<typeof generateText6>[0]["model"];
  await expect(generateText6({ model, prompt, maxRetries: 0 })).rejects.toThrow(/Unsupported model version v4/);
});
