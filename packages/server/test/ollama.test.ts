import { Ollama } from "ollama";
import { expect, test } from "vitest";
import { version } from "../src/version.ts";
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
    capabilities: expect.arrayContaining(["completion", "tools"]),
  });
  expect(await client.version()).toEqual({ version });
  expect(await client.pull({ model: "fable" })).toEqual({ status: "success" });
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
  ["a context", "/api/generate", { model: "fable", prompt: "a", context: [1] }, 400, /^context: unsupported/],
  ["a long prompt", "/api/generate", { model: "fable", prompt: "fox ".repeat(600) }, 400, /in a context of 512, got \d+/],
  ["a model to download", "/api/pull", { model: "llama3" }, 404, /^model: expected one of fable/],
  ["a copy", "/api/copy", { source: "fable", destination: "b" }, 501, /^\/api\/copy/],
  ["a path that does not exist", "/api/nothing", {}, 404, /expected a path/],
])("%s is refused in the API's own form", async (_, path, body, status, message) => {
  const response = await post(handler, path, body);
  expect([response.status, await response.json()]).toEqual([status, { error: expect.stringMatching(message) }]);
});
