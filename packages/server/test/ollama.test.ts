import { loadModel } from "@centella/llm";
import { Ollama } from "ollama";
import { expect, test } from "vitest";
import { familyModel, readFamilyGolden } from "../../llm/test/familyFixture.ts";
import { createHandler } from "../src/index.ts";
import { version } from "../src/version.ts";
import { scripted } from "./scriptedModel.ts";
import { fetchFrom, post, TestModel } from "./serving.ts";

const messages = [{ role: "user", content: "Tell me a story about a fox." }];
const options = { temperature: 0, num_predict: 12 };
const base = { model: "fable", messages, options };
const feed = {
  type: "function",
  function: {
    name: "feed",
    description: "Feeds an animal.",
    parameters: {
      type: "object",
      properties: { animal: { type: "string", enum: ["fox"] } },
      required: ["animal"],
      additionalProperties: false,
    },
  },
};

const served = await TestModel.forFile();
const handler = served.handler();
const client = new Ollama({ host: "http://localhost", fetch: fetchFrom(handler) });

test("chats have the engine's text and counts, whole and in lines", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 12, temperature: 0 });
  const whole = await client.chat(base);
  expect(whole).toMatchObject({
    model: "fable",
    message: { role: "assistant", content: own.text },
    done: true,
    done_reason: "length",
    prompt_eval_count: own.usage.promptTokens,
    eval_count: 12,
  });
  expect(whole.total_duration).toBeGreaterThan(0);
  const lines = [];
  for await (const line of await client.chat({ ...base, model: "fable:latest", stream: true })) lines.push(line);
  expect(lines.map(({ message }) => message.content).join("")).toBe(own.text);
  expect(lines.map(({ done }) => done)).toEqual([...lines.slice(1).map(() => false), true]);
  expect(lines.at(-1)).toMatchObject({ done_reason: "length", eval_count: 12, message: { content: "" } });
});

test("a request streams unless it says otherwise", async () => {
  const response = await post(handler, "/api/chat", { ...base, stream: undefined });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const lines = (await response.text()).trim().split("\n");
  expect(lines.length).toBeGreaterThan(2);
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ done: true });
});

test("plain generations answer, and continue raw texts", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 12, temperature: 0 });
  const answer = await client.generate({ model: "fable", prompt: messages[0]!.content, options });
  expect(answer).toMatchObject({ response: own.text, done: true });
  const ownRaw = await served.model.createSession().complete("The fox", { raw: true, maxTokens: 12, temperature: 0 });
  let streamed = "";
  for await (const { response } of await client.generate({ model: "fable", prompt: "The fox", raw: true, options, stream: true }))
    streamed += response;
  expect(streamed).toBe(ownRaw.text);
  const loaded = await client.generate({ model: "fable", prompt: "" });
  expect(loaded).toMatchObject({ response: "", done: true, done_reason: "load" });
});

test("formats hold", async () => {
  const schema = { type: "object", properties: { animal: { enum: ["fox", "owl"] } }, required: ["animal"], additionalProperties: false };
  const answer = await client.chat({ ...base, format: schema, options: { ...options, num_predict: 60 } });
  expect(JSON.parse(answer.message.content)).toEqual({ animal: expect.stringMatching(/^(fox|owl)$/) });
});

test("tools are described, and calls go back with their results", async () => {
  const history = [
    ...messages,
    { role: "assistant", content: "", tool_calls: [{ function: { name: "feed", arguments: { animal: "fox" } } }] },
    { role: "tool", content: "The fox is full.", tool_name: "feed" },
  ];
  const answer = await client.chat({ ...base, messages: history, tools: [feed] });
  const own = await served.model.createSession().complete(
    [
      ...messages,
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "call00000", type: "function", function: { name: "feed", arguments: '{"animal":"fox"}' } }],
      },
      { role: "tool", content: "The fox is full.", name: "feed", tool_call_id: "call00000" },
    ],
    {
      maxTokens: 12,
      temperature: 0,
      tools: [{ name: "feed", description: "Feeds an animal.", inputSchema: feed.function.parameters as never }],
    },
  );
  expect(answer.message.content).toBe(own.text);
  expect(answer.prompt_eval_count).toBe(own.usage.promptTokens);
});

test("log probabilities are those of the engine", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 12, temperature: 0, logprobs: 2 });
  const answer = await client.chat({ ...base, logprobs: true, top_logprobs: 2 });
  expect(answer.logprobs!.map(({ logprob }) => logprob)).toEqual(own.logprobs!.map(({ logprob }) => logprob));
  expect(answer.logprobs![0]!.top_logprobs).toHaveLength(2);
});

test("embeddings are the engine's vectors", async () => {
  const [fox, owl] = await served.model.embed(["a fox", "an owl"]);
  const { embeddings, prompt_eval_count } = await client.embed({ model: "fable", input: ["a fox", "an owl"] });
  expect(embeddings).toEqual([[...fox!], [...owl!]]);
  const counts = ["a fox", "an owl"].map((text) => served.model.tokenizer.encode(text).length);
  expect(prompt_eval_count).toBe(counts[0]! + counts[1]!);
  expect((await client.embeddings({ model: "fable", prompt: "a fox" })).embedding).toEqual([...fox!]);
});

test("models are listed, described and there", async () => {
  const { info } = served.model;
  const details = { format: "gguf", family: info.architecture, quantization_level: info.quantization };
  expect((await client.list()).models).toMatchObject([{ name: "fable", model: "fable", size: info.memory.weights, details }]);
  expect((await client.ps()).models).toMatchObject([{ name: "fable" }]);
  const shown = await client.show({ model: "fable" });
  expect(shown).toMatchObject({
    details,
    template: served.model.chatTemplate.source,
  });
  expect(await client.version()).toEqual({ version });
  expect(await client.pull({ model: "fable" })).toEqual({ status: "success" });
});

test("thoughts are written apart from the answer, whole and in lines", async () => {
  const thought = { reasoning: "A fox is wanted.", text: "Once there was a fox." };
  const { model } = scripted(served, [thought, thought, thought]);
  const template = new Proxy(model.chatTemplate, {
    get: (target, name) => (name === "reasoning" ? { open: "<think>", close: "</think>" } : Reflect.get(target, name, target)),
  });
  const thinking = new Proxy(model, { get: (target, name) => (name === "chatTemplate" ? template : Reflect.get(target, name)) });
  const other = createHandler({ models: { fable: thinking } });
  const ollama = new Ollama({ host: "http://localhost", fetch: fetchFrom(other) });
  const lines = [];
  for await (const { message, done } of await ollama.chat({ ...base, think: true, stream: true })) lines.push({ ...message, done });
  expect(lines).toEqual([
    { role: "assistant", content: "", thinking: thought.reasoning, done: false },
    { role: "assistant", content: thought.text, done: false },
    { role: "assistant", content: "", done: true },
  ]);
  const whole = await ollama.chat({ ...base, think: true });
  expect(whole.message).toEqual({ role: "assistant", content: thought.text, thinking: thought.reasoning });
  const generated = await ollama.generate({ model: "fable", prompt: "Tell me a story.", think: true });
  expect(generated).toMatchObject({ response: thought.text, thinking: thought.reasoning });
  expect((await ollama.show({ model: "fable" })).capabilities).toEqual(["completion", "tools", "thinking", "embedding"]);
  await other.close();
});

test("the time until which a model stays loaded is told", async () => {
  const lazy = createHandler({ models: { fable: { load: async () => (await TestModel.load()).model, isLazy: true } } });
  const ollama = new Ollama({ host: "http://localhost", fetch: fetchFrom(lazy) });
  const expiryOf = async (): Promise<number> => new Date((await ollama.ps()).models[0]!.expires_at).getTime();
  await ollama.generate({ model: "fable", prompt: "" });
  expect(await expiryOf()).toBe(Date.UTC(9999, 11, 31));
  const before = Date.now();
  await ollama.generate({ model: "fable", prompt: "", keep_alive: "5m" });
  const expiry = await expiryOf();
  expect([expiry >= before + 300_000, expiry <= Date.now() + 300_000]).toEqual([true, true]);
  // While a request runs, the time has not begun.
  const reader = (
    await post(lazy, "/api/generate", { model: "fable", prompt: "a", raw: true, options: { num_predict: 400 } })
  ).body!.getReader();
  await reader.read();
  const during = Date.now();
  expect(await expiryOf()).toBeGreaterThanOrEqual(during + 300_000);
  await reader.cancel();
  await ollama.generate({ model: "fable", prompt: "", keep_alive: -1 });
  expect(await expiryOf()).toBe(Date.UTC(9999, 11, 31));
  await lazy.close();
});

test.each([
  ["bert", ["embedding"]],
  ["bert-rank", []],
])("%s has the capabilities of its file", async (name, capabilities) => {
  const model = await loadModel(familyModel(readFamilyGolden(name)), { runtime: served.runtime });
  const other = createHandler({ models: { encoder: model } });
  expect(await (await post(other, "/api/show", { model: "encoder" })).json()).toMatchObject({ capabilities });
  expect((await client.show({ model: "fable" })).capabilities).toEqual(["completion", "tools", "embedding"]);
  await other.close();
  await model.dispose();
});

test.each<readonly [string, string, object, number, RegExp]>([
  ["an unknown model", "/api/chat", { ...base, model: "other" }, 404, /^model: expected one of fable/],
  ["an unknown option", "/api/chat", { ...base, options: { colour: 1 } }, 400, /^options\.colour/],
  [
    "an image",
    "/api/chat",
    { ...base, messages: [{ ...messages[0], images: ["aGk="] }] },
    400,
    /^messages\[0\]\.images\[0\]: images are not supported/,
  ],
  ["a thought of a model that does not think", "/api/chat", { ...base, think: true }, 400, /^think: expected a model that thinks/],
  [
    "a system message for a raw text",
    "/api/generate",
    { model: "fable", prompt: "a", raw: true, system: "b" },
    400,
    /^system: expected none/,
  ],
  ["a thought before a raw text", "/api/generate", { model: "fable", prompt: "a", raw: true, think: "low" }, 400, /^think: expected false/],
  ["a context", "/api/generate", { model: "fable", prompt: "a", context: [1] }, 400, /^context: unsupported/],
  ["a long prompt", "/api/generate", { model: "fable", prompt: "fox ".repeat(600) }, 400, /in a context of 512, got \d+/],
  ["a model to download", "/api/pull", { model: "llama3" }, 404, /^model: expected one of fable/],
  ["a copy", "/api/copy", { source: "fable", destination: "b" }, 501, /^\/api\/copy/],
  ["a path that does not exist", "/api/nothing", {}, 404, /expected a path/],
])("%s is refused in the API's own form", async (_, path, body, status, message) => {
  const response = await post(handler, path, body);
  expect([response.status, await response.json()]).toEqual([status, { error: expect.stringMatching(message) }]);
});
