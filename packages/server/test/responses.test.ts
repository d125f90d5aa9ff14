import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { expect, test } from "vitest";
import { z } from "zod";
import { createHandler } from "../src/index.ts";
import { eventsOf, fetchFrom, post, TestModel } from "./serving.ts";

const input = "Tell me a story about a fox.";
const messages = [{ role: "user", content: input }];
const base = { model: "fable", input, max_output_tokens: 12, temperature: 0 };
const feed = {
  type: "function" as const,
  name: "feed",
  description: "Feeds an animal.",
  strict: true,
  parameters: { type: "object", properties: { animal: { enum: ["fox", "owl"] } }, required: ["animal"], additionalProperties: false },
};

const served = await TestModel.forFile();
const handler = served.handler();
const client = new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", fetch: fetchFrom(handler), maxRetries: 0 });

test("responses have the engine's text and counts", async () => {
  const own = await served.model
    .createSession()
    .complete([{ role: "system", content: "Be brief." }, ...messages], { maxTokens: 12, temperature: 0 });
  const response = await client.responses.create({ ...base, instructions: "Be brief.", store: false });
  expect(response.output_text).toBe(own.text);
  expect(response).toMatchObject({
    object: "response",
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
    instructions: "Be brief.",
    output: [{ type: "message", role: "assistant", status: "incomplete", content: [{ type: "output_text", annotations: [] }] }],
    usage: { input_tokens: own.usage.promptTokens, output_tokens: 12, total_tokens: own.usage.promptTokens + 12 },
  });
});

test("log probabilities are included if they are asked for", async () => {
  const { output } = await client.responses.create({ ...base, include: ["message.output_text.logprobs"] });
  expect(output).toMatchObject([{ content: [{ logprobs: expect.arrayContaining([expect.objectContaining({ top_logprobs: [] })]) }] }]);
});

test("metadata comes back", async () => {
  const metadata = { topic: "foxes" };
  expect((await client.responses.create({ ...base, metadata })).metadata).toEqual(metadata);
  const [created] = await eventsOf(await post(handler, "/v1/responses", { ...base, metadata, stream: true }));
  expect(JSON.parse(created!)).toMatchObject({ type: "response.created", response: { metadata } });
  expect((await client.responses.create(base)).metadata).toEqual({});
});

test("streams have numbered events in their order", async () => {
  const whole = await client.responses.create(base);
  const events = [];
  for await (const event of await client.responses.create({ ...base, stream: true })) events.push(event);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
  const types = events.map(({ type }) => type);
  const deltas = types.filter((type) => type === "response.output_text.delta");
  expect(types).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    ...deltas,
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.incomplete",
  ]);
  expect(events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("")).toBe(whole.output_text);
  const final = await client.responses.stream(base).finalResponse();
  expect(final.output_text).toBe(whole.output_text);
});

test("a text that ends by itself is completed", async () => {
  const { status, output } = await client.responses.create({
    ...base,
    max_output_tokens: 60,
    text: { format: { type: "json_schema", name: "a", strict: true, schema: { enum: ["yes"] } } },
  });
  expect([status, output[0]]).toMatchObject(["completed", { status: "completed", content: [{ text: '"yes"' }] }]);
});

test("the client parses formats", async () => {
  const Fox = z.object({ name: z.string().max(8), age: z.int().min(0).max(9) });
  const response = await client.responses.parse({ ...base, max_output_tokens: 100, text: { format: zodTextFormat(Fox, "fox") } });
  expect(Fox.safeParse(response.output_parsed).success).toBe(true);
});

test("functions are called, and get their results", async () => {
  const options = { ...base, max_output_tokens: 100, tools: [feed], tool_choice: "required" as const, parallel_tool_calls: false };
  const { output, status } = await client.responses.create(options);
  const [call] = output;
  expect([status, output.length]).toEqual(["completed", 1]);
  expect(call).toMatchObject({ type: "function_call", name: "feed", call_id: expect.any(String), status: "completed" });
  if (call?.type !== "function_call") throw new Error("expected a call");
  expect(JSON.parse(call.arguments)).toEqual({ animal: expect.stringMatching(/^(fox|owl)$/) });
  const types: string[] = [];
  const stream = client.responses.stream(options);
  for await (const { type } of stream) types.push(type);
  expect((await stream.finalResponse()).output[0]).toMatchObject({ type: "function_call", arguments: call.arguments });
  expect(types.slice(2).filter((type) => type !== "response.function_call_arguments.delta")).toEqual([
    "response.output_item.added",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const next = await client.responses.create({
    ...base,
    input: [
      { role: "user", content: [{ type: "input_text", text: input }] },
      { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "reasoning_text", text: "It is hungry." }] },
      call,
      { type: "function_call_output", call_id: call.call_id, output: "The fox is full." },
    ],
  });
  const own = await served.model.createSession().complete(
    [
      ...messages,
      {
        role: "assistant",
        content: "",
        reasoning_content: "It is hungry.",
        tool_calls: [{ id: call.call_id, type: "function", function: { name: "feed", arguments: call.arguments } }],
      },
      { role: "tool", tool_call_id: call.call_id, content: "The fox is full." },
    ],
    { maxTokens: 12, temperature: 0 },
  );
  expect(next.output_text).toBe(own.text);
});

test("tokens are counted as they would be computed", async () => {
  const own = await served.model.createSession().complete(messages, { maxTokens: 1 });
  expect(await client.responses.inputTokens.count({ model: "fable", input })).toMatchObject({ input_tokens: own.usage.promptTokens });
  const counted = await post(handler, "/v1/chat/completions/input_tokens", { messages });
  expect(await counted.json()).toMatchObject({ input_tokens: own.usage.promptTokens });
});

test("a conversation that is too long is refused, or loses its oldest turns", async () => {
  const turns = Array.from({ length: 60 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `turn ${i}: ${"fox ".repeat(10)}`,
  }));
  const long = { ...base, input: [...turns, { role: "user", content: "Go on." }] };
  expect((await post(handler, "/v1/responses", long)).status).toBe(400);
  expect((await post(handler, "/v1/responses", { ...long, truncation: "auto" })).status).toBe(200);
});

test("a failure after the first byte is the last event", async () => {
  const model = new Proxy(served.model, {
    get(target, name) {
      if (name !== "createSession") return Reflect.get(target, name, target);
      return () => ({
        async *generate() {
          yield { type: "prefill", done: 0, total: 1 };
          throw Object.assign(new Error("no memory"), { code: "outOfMemory" });
        },
      });
    },
  });
  const failing = createHandler({ models: { fable: model } });
  const failures: unknown[] = [];
  failing.events.subscribe((event) => {
    if (event.type === "failure") failures.push(event.error);
  });
  const events = await eventsOf(await post(failing, "/v1/responses", { ...base, stream: true }));
  expect(JSON.parse(events.at(-1)!)).toMatchObject({
    type: "response.failed",
    response: { status: "failed", error: { code: "out_of_memory" } },
  });
  expect(failures).toEqual([expect.objectContaining({ message: "no memory" })]);
  const whole = await post(failing, "/v1/responses", base);
  expect([whole.status, await whole.json()]).toMatchObject([500, { error: { code: "out_of_memory" } }]);
  await failing.close();
});

test.each<readonly [string, object, string, string]>([
  ["a stored response", { store: true }, "invalid_value", "store"],
  ["an earlier response", { previous_response_id: "resp_1" }, "unsupported_parameter", "previous_response_id"],
  ["an image", { input: [{ role: "user", content: [{ type: "input_image" }] }] }, "invalid_value", "input[0].content[0].type"],
  ["an item of another type", { input: [{ type: "item_reference", id: "a" }] }, "invalid_value", "input[0].type"],
  ["a call without a name", { input: [{ type: "function_call", call_id: "a", arguments: "" }] }, "missing_parameter", "input[0].name"],
  ["a tool of OpenAI's servers", { tools: [{ type: "web_search" }] }, "invalid_value", "tools[0].type"],
])("%s is refused by name", async (_, change, code, param) => {
  const response = await post(handler, "/v1/responses", { ...base, ...change });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code, param } }]);
});
