import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { createHandler } from "../src/index.ts";
import { scripted } from "./scriptedModel.ts";
import { fetchFrom, post, TestModel } from "./serving.ts";

const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
const base = { model: "fable", messages, max_tokens: 12, temperature: 0 };
const feed = {
  name: "feed",
  description: "Feeds an animal.",
  input_schema: {
    type: "object" as const,
    properties: { animal: { enum: ["fox", "owl"] } },
    required: ["animal"],
    additionalProperties: false,
  },
};

const served = await TestModel.forFile();
const handler = served.handler({ keys: [{ key: "secret" }] });
const client = new Anthropic({ apiKey: "secret", baseURL: "http://localhost", fetch: fetchFrom(handler), maxRetries: 0 });

test("messages have the engine's text and counts", async () => {
  const own = await served.model
    .createSession()
    .complete([{ role: "system", content: "Be brief." }, ...messages], { maxTokens: 12, temperature: 0 });
  const message = await client.messages.create({ ...base, system: [{ type: "text", text: "Be brief." }] });
  expect(message).toMatchObject({
    type: "message",
    role: "assistant",
    model: "fable",
    content: [{ type: "text", text: own.text }],
    stop_reason: "max_tokens",
    stop_sequence: null,
    usage: { output_tokens: 12 },
  });
  const { input_tokens, cache_read_input_tokens } = message.usage;
  expect(input_tokens + cache_read_input_tokens!).toBe(own.usage.promptTokens);
});

test("streams have the events in their order", async () => {
  const whole = await client.messages.create(base);
  const stream = client.messages.stream(base);
  const types: string[] = [];
  stream.on("streamEvent", ({ type }) => types.push(type));
  const message = await stream.finalMessage();
  expect(message.content).toMatchObject(whole.content);
  expect(message).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 12 } });
  expect([types[0], types[1], types[2], ...types.slice(-3)]).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("stop sequences are named", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 12, temperature: 0 });
  const stop = own.text.slice(10, 14);
  const message = await client.messages.create({ ...base, stop_sequences: [stop] });
  expect(message).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: stop });
});

test("tools are called, once as a whole and once in pieces, and get their results", async () => {
  const options = { ...base, max_tokens: 100, tools: [feed], tool_choice: { type: "any" as const, disable_parallel_tool_use: true } };
  const message = await client.messages.create(options);
  expect(message.stop_reason).toBe("tool_use");
  const [call] = message.content;
  expect(call).toMatchObject({ type: "tool_use", name: "feed", input: { animal: expect.stringMatching(/^(fox|owl)$/) } });
  const streamed = await client.messages.stream(options).finalMessage();
  expect(streamed.content).toEqual([{ ...call, id: expect.any(String) }]);
  if (call?.type !== "tool_use") throw new Error("expected a call");
  const result = { type: "tool_result" as const, tool_use_id: call.id, content: [{ type: "text" as const, text: "The fox is full." }] };
  const next = await client.messages.create({
    ...base,
    tools: [feed],
    tool_choice: { type: "none" },
    messages: [
      ...messages,
      { role: "assistant", content: message.content },
      { role: "user", content: [result, { type: "text", text: "Go on." }] },
    ],
  });
  const own = await served.model.createSession().complete(
    [
      ...messages,
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: call.id, type: "function", function: { name: "feed", arguments: JSON.stringify(call.input) } }],
      },
      { role: "tool", tool_call_id: call.id, content: "The fox is full." },
      { role: "user", content: "Go on." },
    ],
    {
      maxTokens: 12,
      temperature: 0,
      tools: [{ name: feed.name, description: feed.description, inputSchema: feed.input_schema }],
      toolChoice: "none",
    },
  );
  expect(next.content).toMatchObject([{ type: "text", text: own.text }]);
});

test.each([
  [true, "The fox fled.", "Error: The fox fled."],
  [true, [{ type: "text", text: "The fox fled." }], "Error: The fox fled."],
  [true, undefined, "Error: "],
  [false, "The fox ate.", "The fox ate."],
])("a result with is_error %s tells the model so", async (is_error, content, told) => {
  const { model, prompts } = scripted(served, [{ text: "Oh." }]);
  const other = createHandler({ models: { fable: model } });
  const call = { type: "tool_use", id: "1", name: "feed", input: { animal: "fox" } };
  const result = { type: "tool_result", tool_use_id: "1", content, is_error };
  const history = [...messages, { role: "assistant", content: [call] }, { role: "user", content: [result] }];
  expect((await post(other, "/v1/messages", { ...base, messages: history, tools: [feed] })).status).toBe(200);
  expect((prompts[0] as readonly object[]).at(-1)).toEqual({ role: "tool", tool_call_id: "1", content: told });
  await other.close();
});

test("formats hold, and a thought may be given back", async () => {
  const thought = { type: "thinking" as const, thinking: "A fox.", signature: "" };
  const schema = { type: "object", properties: { animal: { enum: ["fox", "owl"] } }, required: ["animal"], additionalProperties: false };
  const message = await client.messages.create({
    ...base,
    max_tokens: 60,
    messages: [
      ...messages,
      { role: "assistant", content: [thought, { type: "text", text: "A fox." }] },
      { role: "user", content: "Which?" },
    ],
    output_config: { format: { type: "json_schema", schema } },
  });
  const [block] = message.content;
  expect(JSON.parse(block?.type === "text" ? block.text : "")).toEqual({ animal: expect.stringMatching(/^(fox|owl)$/) });
});

test("tokens are counted as they would be computed", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 1 });
  expect(await client.messages.countTokens({ model: "fable", messages })).toEqual({ input_tokens: own.usage.promptTokens });
  const withTools = await client.messages.countTokens({ model: "fable", messages, tools: [feed] });
  expect(withTools.input_tokens).toBeGreaterThan(own.usage.promptTokens + 20);
  const long = [{ role: "user" as const, content: "fox ".repeat(600) }];
  expect((await client.messages.countTokens({ model: "fable", messages: long })).input_tokens).toBeGreaterThan(512);
});

const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };

test.each<readonly [string, object, number, string, RegExp]>([
  ["no limit", { max_tokens: undefined }, 400, "invalid_request_error", /^max_tokens: expected a number, got nothing/],
  ["an image", { messages: [{ role: "user", content: [image] }] }, 400, "invalid_request_error", /^messages\[0\]\.content\[0\].*images/],
  [
    "a tool of Anthropic's servers",
    { tools: [{ type: "bash_20250124", name: "bash" }] },
    400,
    "invalid_request_error",
    /^tools\[0\]\.type/,
  ],
  ["a server of tools", { mcp_servers: [] }, 400, "invalid_request_error", /^mcp_servers: unsupported/],
  ["an unknown model", { model: "other" }, 404, "not_found_error", /^model: expected one of fable/],
  [
    "a long prompt",
    { messages: [{ role: "user", content: "fox ".repeat(600) }] },
    400,
    "invalid_request_error",
    /in a context of 512, got \d+/,
  ],
])("%s is refused in the API's own form", async (_, change, status, type, message) => {
  const headers = { "x-api-key": "secret" };
  const response = await post(handler, "/v1/messages", { ...base, ...change }, { headers });
  expect([response.status, await response.json()]).toEqual([
    status,
    { type: "error", error: { type, message: expect.stringMatching(message) }, request_id: expect.any(String) },
  ]);
});

test("a request without a key is refused in the API's own form", async () => {
  const response = await post(handler, "/v1/messages", base);
  expect([response.status, await response.json()]).toMatchObject([401, { type: "error", error: { type: "authentication_error" } }]);
});
