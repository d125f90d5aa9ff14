import { NoSuchModelError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openProviders } from "./providers.ts";
import { versionsOf } from "./versions.ts";

// What the AI SDK's suite for providers asks of hosted models, without pictures and documents. Where it counts on a model's sense, such as a list
// that is not empty, the schema says so here: the test model has two million parameters.

const versions = versionsOf(await openProviders()).filter(([name]) => name.endsWith("runtime"));

const word = z.string().min(1).max(10);
const words = z.array(word).min(1).max(3);

describe.each(versions)("features of providers, by the AI SDK %s", (_, sdk, centella) => {
  const { generateText, streamText, Output } = sdk;
  const call = { model: centella("fable"), temperature: 0, maxOutputTokens: 300, maxRetries: 0 } as const;

  /** An object of a schema, whole and streamed. */
  async function objects<T>(schema: z.ZodType<T>, prompt: string): Promise<T> {
    const { output, usage } = await generateText({ ...call, prompt, output: Output.object({ schema }) });
    expect(usage.totalTokens).toBeGreaterThan(0);
    const streamed = streamText({ ...call, prompt, output: Output.object({ schema }) });
    const parts: unknown[] = [];
    for await (const part of streamed.partialOutputStream) parts.push(part);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.at(-1)).toEqual(output);
    expect(await streamed.output).toEqual(output);
    return schema.parse(output);
  }

  test("texts, with instructions, whole and streamed", async () => {
    const whole = await generateText({ ...call, prompt: "Tell me of a fox.", maxOutputTokens: 20 });
    expect([whole.text === "", whole.usage.totalTokens! > 20]).toEqual([false, true]);
    const messages = [
      { role: "system" as const, content: "You tell stories." },
      { role: "user" as const, content: [{ type: "text" as const, text: "Tell me of a fox." }] },
    ];
    const instructed = await generateText({ ...call, messages, allowSystemInMessages: true, maxOutputTokens: 20 });
    expect(instructed.text).not.toBe("");
    const streamed = streamText({ ...call, prompt: "Tell me of a fox.", maxOutputTokens: 20 });
    const chunks: string[] = [];
    for await (const chunk of streamed.textStream) chunks.push(chunk);
    expect(chunks.join("")).toBe(whole.text);
    expect((await streamed.usage).totalTokens).toBe(whole.usage.totalTokens);
  });

  test("objects with texts, numbers and lists", async () => {
    const post = await objects(z.object({ title: word, tags: words }), "Describe a page about foxes.");
    expect(post.tags.length).toBeGreaterThan(0);
    const person = await objects(z.object({ name: word, age: z.int().min(1).max(99) }), "Describe a person.");
    expect(person.age).toBeTypeOf("number");
    const item = z.object({ name: word, quantity: z.int().min(1).max(9) });
    expect((await objects(z.object({ items: z.array(item).length(3) }), "List what to buy.")).items).toHaveLength(3);
  });

  test("objects in objects, with choices and switches", async () => {
    const contact = z.object({ email: word, phone: word });
    const preferences = z.object({ theme: z.enum(["light", "dark"]), notifications: z.boolean() });
    const profile = await objects(z.object({ user: z.object({ name: word, contact }), preferences }), "Describe a user.");
    expect(["light", "dark"]).toContain(profile.preferences.theme);
    expect(profile.preferences.notifications).toBeTypeOf("boolean");
  });

  test("lists of objects with lists", async () => {
    const comment = z.object({ author: word, text: word });
    const post = z.object({ title: word, comments: z.array(comment).min(1).max(2) });
    const { posts } = await objects(z.object({ posts: z.array(post).min(2).max(2) }), "Write a diary.");
    expect(posts.map(({ comments }) => comments.length > 0)).toEqual([true, true]);
    const paragraphs = z.object({ title: word, paragraphs: words });
    const section = z.object({ heading: word, subsections: z.array(paragraphs).length(1) });
    const book = z.object({ chapters: z.array(z.object({ title: word, sections: z.array(section).length(1) })).length(1) });
    expect((await objects(book, "Plan a book.")).chapters[0]!.sections[0]!.subsections[0]!.paragraphs.length).toBeGreaterThan(0);
  });

  test("a schema that is used twice, and the same without", async () => {
    const product = z.object({ name: word, kind: word });
    const shared = z.object({
      morning: z.array(product.extend({ hours: word })).length(1),
      evening: z.array(product).length(1),
      notes: word,
    });
    const flat = z.object({
      morning: z.array(z.object({ name: word, kind: word, hours: word })).length(1),
      evening: z.array(z.object({ name: word, kind: word })).length(1),
      notes: word,
    });
    expect(await objects(shared, "Plan a day.")).toEqual(await objects(flat, "Plan a day."));
  });

  test("schemas with descriptions, names and instructions", async () => {
    const schema = z
      .object({
        title: word.describe("A short title"),
        price: z.number().min(1).max(9).describe("In euros"),
        features: words.describe("What it does"),
      })
      .describe("A product");
    const { output } = await generateText({
      ...call,
      messages: [
        { role: "system", content: "You sell things." },
        { role: "user", content: "Describe a lamp." },
      ],
      allowSystemInMessages: true,
      output: Output.object({ schema, name: "product", description: "A product of the list" }),
    });
    expect(output.price).toBeGreaterThanOrEqual(1);
    expect(output.features.length).toBeGreaterThan(0);
  });

  const oneCall = { centella: { parallelToolCalls: false } };

  test("calls of tools, whole and streamed", async () => {
    const add = sdk.tool({
      description: "Adds.",
      inputSchema: z.object({ a: z.literal(2), b: z.literal(2) }),
      execute: async ({ a, b }) => String(a + b),
    });
    const options = { ...call, prompt: "What is 2 + 2?", tools: { add }, toolChoice: "required", providerOptions: oneCall } as const;
    const { toolCalls, toolResults, usage } = await generateText(options);
    expect(toolCalls).toMatchObject([{ toolName: "add", input: { a: 2, b: 2 } }]);
    expect(toolResults).toMatchObject([{ output: "4" }]);
    expect(usage.totalTokens).toBeGreaterThan(0);
    const streamed = streamText(options);
    const types: string[] = [];
    for await (const part of streamed.fullStream) types.push(part.type);
    expect(types.filter((type) => /^tool-(call|result|error)$/.test(type))).toEqual(["tool-call", "tool-result"]);
  });

  test("calls of several tools, one after another", async () => {
    const called: unknown[] = [];
    const city = z.object({ city: z.enum(["Paris", "Oslo"]) });
    const degrees = z.object({ degrees: z.int().min(10).max(19) });
    const { steps, text } = await generateText({
      ...call,
      prompt: "Play music for the weather in Oslo.",
      tools: {
        weather: sdk.tool({ inputSchema: city, execute: async (input) => `${called.push(input)} degrees` }),
        music: sdk.tool({ inputSchema: degrees, execute: async (input) => ({ song: called.push(input) }) }),
      },
      providerOptions: oneCall,
      stopWhen: sdk.stepCountIs(5),
      prepareStep: ({ stepNumber }) => {
        const toolName = (["weather", "music"] as const)[stepNumber];
        return { toolChoice: toolName === undefined ? "none" : { type: "tool", toolName } };
      },
    });
    expect(called.map((input) => Object.keys(input as object))).toEqual([["city"], ["degrees"]]);
    expect(steps.map(({ finishReason }) => finishReason).slice(0, 2)).toEqual(["tool-calls", "tool-calls"]);
    expect([steps.length, text === ""]).toEqual([3, false]);
    // The calls and their results are read by the last step.
    expect(steps[2]!.usage.inputTokens).toBeGreaterThan(steps[1]!.usage.inputTokens!);
  });

  test("embeddings of one text and of several", async () => {
    const model = centella.embeddingModel("fable");
    const one = await sdk.embed({ model, value: "A fox." });
    const many = await sdk.embedMany({ model, values: ["A fox.", "An owl.", "A cat."] });
    expect(many.embeddings).toHaveLength(3);
    expect(many.embeddings[0]).toEqual(one.embedding);
    expect([one.embedding.length > 0, one.usage.tokens > 0, many.usage.tokens > one.usage.tokens]).toEqual([true, true, true]);
  });

  test("a model that is not there", () => {
    expect(() => generateText({ ...call, model: centella("owl" as "fable"), prompt: "Hello!" })).toThrow(NoSuchModelError);
    expect(() => streamText({ ...call, model: centella("owl" as "fable"), prompt: "Hello!" })).toThrow(NoSuchModelError);
  });
});
