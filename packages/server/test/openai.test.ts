import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fetchFrom, TestModel } from "./serving.ts";

const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
const feed = {
  type: "function" as const,
  function: {
    name: "feed",
    description: "Feeds an animal.",
    parameters: { type: "object", properties: { animal: { enum: ["fox", "owl"] } }, required: ["animal"], additionalProperties: false },
  },
};

const served = await TestModel.forFile();
const handler = served.handler();
const client = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch: fetchFrom(handler), maxRetries: 0 });

describe("chat completions", () => {
  test("answer with the engine's text and counts", async () => {
    const own = await served.model.createSession().complete(messages, { maxTokens: 12, temperature: 0 });
    const answer = await client.chat.completions.create({ model: "fable", messages, max_completion_tokens: 12, temperature: 0 });
    expect(answer.choices).toHaveLength(1);
    const [choice] = answer.choices;
    expect(choice).toMatchObject({ index: 0, finish_reason: "length", logprobs: null, message: { role: "assistant", content: own.text } });
    expect(answer.usage).toMatchObject({
      prompt_tokens: own.usage.promptTokens,
      completion_tokens: 12,
      total_tokens: own.usage.promptTokens + 12,
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "fable",
      system_fingerprint: expect.stringMatching(/^centella-[\d.]+_Fable_Tiny.*_wasm$/),
    });
  });

  test("stream the same text: role first, finish last, then the usage", async () => {
    const whole = await client.chat.completions.create({ model: "fable", messages, max_tokens: 12, temperature: 0 });
    const stream = await client.chat.completions.create({
      model: "fable",
      messages,
      max_tokens: 12,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks[0]!.choices[0]!.delta).toEqual({ role: "assistant", content: "" });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(whole.choices[0]!.message.content);
    expect(chunks.at(-2)!.choices[0]).toMatchObject({ delta: {}, finish_reason: "length" });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 12 } });
    expect(chunks.at(-1)!.usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThanOrEqual(0);
  });

  test("n texts share the prompt and differ by their seeds", async () => {
    const options = { model: "fable", messages, max_tokens: 8, n: 3, seed: 1 };
    const answer = await client.chat.completions.create(options);
    const texts = answer.choices.map(({ message }) => message.content);
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(texts).size).toBe(3);
    const single = await client.chat.completions.create({ ...options, n: 1, seed: 3 });
    expect(single.choices[0]!.message.content).toBe(texts[2]);
    expect(answer.usage).toMatchObject({ completion_tokens: 24, prompt_tokens: single.usage!.prompt_tokens });
    const stream = await client.chat.completions.create({ ...options, stream: true });
    const streamed = ["", "", ""];
    for await (const { choices } of stream) for (const { index, delta } of choices) streamed[index] += delta.content ?? "";
    expect(streamed).toEqual(texts);
  });

  test("call tools, once as a whole and once in pieces", async () => {
    const options = {
      model: "fable",
      messages,
      tools: [feed],
      tool_choice: "required" as const,
      parallel_tool_calls: false,
      temperature: 0,
      max_tokens: 100,
    };
    const answer = await client.chat.completions.create(options);
    const { message, finish_reason } = answer.choices[0]!;
    expect(finish_reason).toBe("tool_calls");
    const call = message.tool_calls![0]!;
    expect(call).toMatchObject({ type: "function", id: expect.any(String), function: { name: "feed" } });
    if (call.type !== "function") throw new Error("expected a function");
    expect(JSON.parse(call.function.arguments)).toEqual({ animal: expect.stringMatching(/^(fox|owl)$/) });

    const deltas = [];
    let reason: string | null = null;
    for await (const { choices } of await client.chat.completions.create({ ...options, stream: true })) {
      for (const { delta, finish_reason } of choices) {
        deltas.push(...(delta.tool_calls ?? []));
        reason = finish_reason ?? reason;
      }
    }
    expect(reason).toBe("tool_calls");
    expect(deltas.every(({ index }) => index === 0)).toBe(true);
    expect(deltas.filter(({ id }) => id !== undefined)).toHaveLength(1);
    expect(deltas[0]).toMatchObject({ id: expect.any(String), type: "function", function: { name: "feed" } });
    const written = deltas.map((delta) => delta.function?.arguments ?? "").join("");
    expect(JSON.parse(written)).toEqual(JSON.parse(call.function.arguments));
  });

  test("the client's own loop answers calls", async () => {
    const fed: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: "fable",
      messages,
      max_tokens: 100,
      temperature: 0,
      parallel_tool_calls: false,
      tool_choice: { type: "function", function: { name: "feed" } },
      tools: [
        { type: "function", function: { ...feed.function, parse: JSON.parse, function: (args: unknown) => `fed ${fed.push(args)}` } },
      ],
    });
    await runner.done();
    expect(fed).toEqual([{ animal: expect.stringMatching(/^(fox|owl)$/) }]);
  });

  test("formats hold", async () => {
    const Fox = z.object({ name: z.string().max(8), age: z.int().min(0).max(9) });
    const parsed = await client.chat.completions.parse({ model: "fable", messages, response_format: zodResponseFormat(Fox, "fox") });
    expect(Fox.safeParse(parsed.choices[0]!.message.parsed).success).toBe(true);
    const grammar = { model: "fable", messages, grammar: 'root ::= "yes" | "no"' };
    const answer = await client.chat.completions.create(grammar);
    expect(answer.choices[0]!.message.content).toMatch(/^(yes|no)$/);
  });

  test("log probabilities are those of the engine", async () => {
    const own = await served.model.createSession().complete(messages, { maxTokens: 4, temperature: 0, logprobs: 2 });
    const options = { model: "fable", messages, max_tokens: 4, temperature: 0, logprobs: true, top_logprobs: 2 };
    const answer = await client.chat.completions.create(options);
    const { content } = answer.choices[0]!.logprobs!;
    expect(content!.map(({ logprob }) => logprob)).toEqual(own.logprobs!.map(({ logprob }) => logprob));
    expect(content!.flatMap(({ bytes }) => bytes)).toEqual([...new TextEncoder().encode(content!.map(({ token }) => token).join(""))]);
    expect(content![0]!.top_logprobs).toHaveLength(2);
    const streamed = [];
    for await (const { choices } of await client.chat.completions.create({ ...options, stream: true }))
      streamed.push(...(choices[0]?.logprobs?.content ?? []));
    expect(streamed).toEqual(content);
  });

  test("stop strings, progress and an answer that goes on", async () => {
    const own = await served.model.createSession().complete(messages, { maxTokens: 12, temperature: 0 });
    const stop = own.text.slice(10, 14);
    const answer = await client.chat.completions.create({ model: "fable", messages, temperature: 0, stop });
    expect(answer.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: own.text.slice(0, own.text.indexOf(stop)) } });
    const progress = { model: "fable", messages, max_tokens: 1, stream: true as const, return_progress: true };
    const reported = [];
    for await (const chunk of await client.chat.completions.create(progress))
      if ("prompt_progress" in chunk) reported.push(chunk.prompt_progress);
    const { promptTokens } = own.usage;
    const last = { total: promptTokens, cache: expect.any(Number), processed: promptTokens, time_ms: expect.any(Number) };
    expect(reported.at(-1)).toEqual(last);
    const begun = [...messages, { role: "assistant" as const, content: "Once" }];
    const more = await client.chat.completions.create({ model: "fable", messages: begun, max_tokens: 4, temperature: 0 });
    const ownMore = await served.model.createSession().complete(begun, { maxTokens: 4, temperature: 0 });
    expect(more.choices[0]!.message.content).toBe(ownMore.text);
  });

  test("an abort ends the generation and frees its sequence", async () => {
    const kinds: string[] = [];
    const unsubscribe = handler.events.subscribe((event) => {
      if (event.type === "finished") kinds.push(event.finish);
    });
    // In a variable of its own, because the client's types know no ignore_eos.
    const request = { model: "fable", messages, max_tokens: 400, ignore_eos: true, stream: true } as const;
    for await (const _ of await client.chat.completions.create(request)) break;
    await expect.poll(() => kinds).toEqual(["cancelled"]);
    unsubscribe();
  });
});

describe("plain completions", () => {
  test("continue texts and ids, with echo and several prompts", async () => {
    const own = await served.model.createSession().complete("The fox", { raw: true, maxTokens: 6, temperature: 0 });
    const options = { model: "fable", max_tokens: 6, temperature: 0 };
    const answer = await client.completions.create({ ...options, prompt: "The fox", echo: true });
    expect(answer.choices[0]).toMatchObject({ text: `The fox${own.text}`, finish_reason: "length", index: 0 });
    const several = await client.completions.create({ ...options, prompt: [[...own.promptIds], [...own.promptIds, ...own.ids]], n: 1 });
    expect(several.choices[0]!.text).toBe(own.text);
    expect(several.choices).toHaveLength(2);
    expect(several.usage!.prompt_tokens).toBe(2 * own.promptIds.length + 6);
    let streamed = "";
    for await (const chunk of await client.completions.create({ ...options, prompt: "The fox", echo: true, stream: true }))
      streamed += chunk.choices[0]?.text ?? "";
    expect(streamed).toBe(`The fox${own.text}`);
    const withLogprobs = await client.completions.create({ ...options, prompt: "The fox", logprobs: 1 });
    expect(withLogprobs.choices[0]!.logprobs).toMatchObject({ tokens: { length: 6 }, text_offset: { length: 6 } });
  });
});

describe("embeddings", () => {
  test("are the engine's vectors, as numbers and as base64, also shortened", async () => {
    const [own] = await served.model.embed(["a fox"]);
    const floats = await client.embeddings.create({ model: "fable", input: "a fox", encoding_format: "float" });
    expect(floats.data[0]!.embedding).toEqual([...own!]);
    expect(floats.usage.prompt_tokens).toBe(served.model.tokenizer.encode("a fox").length);
    // The client asks for base64 unless told otherwise.
    const decoded = await client.embeddings.create({ model: "fable", input: ["an owl", "a fox"] });
    expect(decoded.data[1]!.embedding.map(Math.fround)).toEqual([...own!]);
    const short = await client.embeddings.create({ model: "fable", input: "a fox", dimensions: 8, encoding_format: "float" });
    const length = Math.hypot(...own!.slice(0, 8));
    expect(short.data[0]!.embedding).toHaveLength(8);
    for (const [i, value] of short.data[0]!.embedding.entries()) expect(value).toBeCloseTo(own![i]! / length, 6);
  });
});

test("models are listed and described", async () => {
  const list = await client.models.list();
  expect(list.data).toMatchObject([{ id: "fable", object: "model", owned_by: "centella", meta: { n_ctx: 512 } }]);
  expect(await client.models.retrieve("fable")).toMatchObject({ id: "fable" });
  await expect(client.models.retrieve("missing")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
});
