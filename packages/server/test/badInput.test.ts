import { expect, test } from "vitest";
import { eventsOf, post, TestModel } from "./serving.ts";

const messages = [{ role: "user", content: "Hello" }];
const chat = "/v1/chat/completions";

const served = await TestModel.forFile();
const handler = served.handler({ maxBody: 200_000 });

const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "http://a/b.png" } }] }];
const schemaWith = (schema: object): object => ({ type: "json_schema", json_schema: { name: "a", schema } });

const toolOf = (name: string): object => ({ type: "function", function: { name } });
const choiceOf = toolOf;

test.each<readonly [name: string, body: object | string, status: number, code: string, param: string | null]>([
  ["no JSON", "{", 400, "invalid_json", null],
  ["nothing", "", 400, "invalid_json", null],
  ["a list", "[]", 400, "invalid_json", null],
  ["NaN", '{"temperature":NaN}', 400, "invalid_json", null],
  ["no messages", {}, 400, "missing_parameter", "messages"],
  ["empty messages", { messages: [] }, 400, "invalid_value", "messages"],
  ["a wrong role", { messages: [{ role: "king", content: "" }] }, 400, "invalid_value", "messages[0].role"],
  ["content of a wrong type", { messages: [{ role: "user", content: 1 }] }, 400, "invalid_value", "messages[0].content"],
  ["an image", { messages: image }, 400, "invalid_value", "messages[0].content[0].type"],
  ["a wrong type", { messages, temperature: "hot" }, 400, "invalid_value", "temperature"],
  ["a value out of range", { messages, top_p: 2 }, 400, "invalid_value", "top_p"],
  ["n: 0", { messages, n: 0 }, 400, "invalid_value", "n"],
  ["max_tokens: 0", { messages, max_tokens: 0 }, 400, "invalid_value", "max_tokens"],
  ["an unknown field", { messages, colour: "red" }, 400, "unknown_parameter", "colour"],
  ["an unknown field of a message", { messages: [{ ...messages[0], colour: 1 }] }, 400, "unknown_parameter", "messages[0].colour"],
  ["a refused field", { messages, functions: [] }, 400, "unsupported_parameter", "functions"],
  ["audio", { messages, audio: { voice: "alloy" } }, 400, "unsupported_parameter", "audio"],
  ["stored completions", { messages, store: true }, 400, "invalid_value", "store"],
  ["an unknown model", { model: "other", messages }, 404, "model_not_found", "model"],
  ["a prompt that is too long", { messages: [{ role: "user", content: "fox ".repeat(2000) }] }, 400, "context_length_exceeded", null],
  [
    "a schema that cannot be enforced",
    { messages, response_format: schemaWith({ not: { type: "string", pattern: "(?=a)" } }) },
    400,
    "invalid_schema",
    null,
  ],
  ["two formats", { messages, grammar: 'root ::= "a"', json_schema: {} }, 400, "invalid_value", "grammar"],
  ["a grammar with a mistake", { messages, grammar: "root ::= (" }, 400, "invalid_schema", null],
  ["a tool without a name", { messages, tools: [{ type: "function", function: {} }] }, 400, "missing_parameter", "tools[0].function.name"],
  ["a tool of another type", { messages, tools: [{ type: "web_search" }] }, 400, "invalid_value", "tools[0].type"],
  ["a choice of a tool without tools", { messages, tool_choice: "required" }, 400, "invalid_value", "tool_choice"],
  ["a choice of a tool with an empty list", { messages, tools: [], tool_choice: "required" }, 400, "invalid_value", "tool_choice"],
  ["a choice of a tool that is not there", { messages, tools: [], tool_choice: choiceOf("feed") }, 400, "invalid_value", "tool_choice"],
  ["a choice of another tool", { messages, tools: [toolOf("feed")], tool_choice: choiceOf("call") }, 400, "invalid_value", "tool_choice"],
  ["options that contradict each other", { messages, mirostat: 2, top_k: 3 }, 400, "invalid_value", null],
  ["an effort that the template does not know", { messages, reasoning_effort: "low" }, 400, "unsupported_value", null],
  ["an id outside the vocabulary", { messages, logit_bias: { 99999999: 1 }, max_tokens: 1 }, 400, "invalid_value", "logit_bias"],
  ["a body that is too large", { messages, user: "a".repeat(300_000) }, 413, "body_too_large", null],
])("%s is refused by name, streamed or not", async (_, body, status, code, param) => {
  const streamed = typeof body === "string" ? body : { ...body, stream: true };
  for (const each of [body, streamed]) {
    const response = await post(handler, chat, each);
    const answer = (await response.json()) as { error: { message: string } };
    expect(answer).toEqual({ error: { message: expect.any(String), type: "invalid_request_error", code, param } });
    expect(answer.error.message).not.toMatch(/undefined|Invalid input/);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toMatch(/^[\w-]+$/);
  }
});

test("a prompt beyond the context names both numbers", async () => {
  const response = await post(handler, chat, { messages: [{ role: "user", content: "fox ".repeat(600) }] });
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toMatch(/at most 511 tokens in a context of 512, got \d{3,4}; send a shorter one$/);
});

test("more messages than a conversation may have are refused", async () => {
  const many = Array.from({ length: 100_000 }, () => ({ role: "user", content: "" }));
  const response = await post(served.handler(), chat, { messages: many });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: "invalid_value", param: "messages" } });
});

test("a schema that cannot be enforced is named by its JSON pointer", async () => {
  const schema = { type: "object", properties: { a: { type: "string", pattern: "(?=b)" } } };
  const response = await post(handler, chat, { messages, response_format: schemaWith(schema) });
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toMatch(/pattern .* at "\/properties\/a"/);
});

test.each<readonly [path: string, body: object]>([
  ["/v1/responses", { input: "Hello", tool_choice: "required" }],
  ["/v1/responses", { input: "Hello", tool_choice: { type: "function", name: "feed" }, tools: [] }],
  ["/v1/responses/input_tokens", { input: "Hello", tool_choice: "required" }],
  ["/v1/messages", { model: "fable", messages, max_tokens: 1, tool_choice: { type: "any" } }],
  ["/v1/messages", { model: "fable", messages, max_tokens: 1, tools: [], tool_choice: { type: "tool", name: "feed" } }],
])("%s refuses a choice of a tool that is not there: %j", async (path, body) => {
  const response = await post(handler, path, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(/^tool_choice: expected/) } });
});

test.each(["none", "auto"])("without tools, the choice %s has nothing to refuse", async (choice) => {
  expect((await post(handler, chat, { messages, max_tokens: 1, tool_choice: choice })).status).toBe(200);
  expect((await post(handler, "/v1/responses", { input: "Hello", max_output_tokens: 1, tool_choice: choice })).status).toBe(200);
  const message = { model: "fable", messages, max_tokens: 1, tool_choice: { type: choice } };
  expect((await post(handler, "/v1/messages", message)).status).toBe(200);
});

test("fields without effect are accepted", async () => {
  const ignored = { user: "me", metadata: { a: "b" }, store: false, service_tier: "auto", cache_prompt: true, id_slot: 0, seed: null };
  const response = await post(handler, chat, { messages, max_tokens: 1, ...ignored });
  expect(response.status).toBe(200);
});

test("paths and methods that do not exist are 404", async () => {
  const response = await post(handler, "/v1/nothing", {});
  expect([response.status, await response.json()]).toEqual([404, { error: expect.objectContaining({ code: "not_found" }) }]);
});

test("a failure after the first byte is an event, and the server goes on", async () => {
  const failing = served.model.createSession.bind(served.model);
  let isBroken = true;
  const model = new Proxy(served.model, {
    get(target, name) {
      if (name === "createSession" && isBroken)
        return () => ({
          async *generate() {
            yield { type: "prefill", done: 0, total: 1 };
            throw Object.assign(new Error("the device was lost"), { code: "deviceLost" });
          },
        });
      return name === "createSession" ? failing : Reflect.get(target, name, target);
    },
  });
  const { createHandler } = await import("../src/index.ts");
  const broken = createHandler({ models: { fable: model } });
  const events = await eventsOf(await post(broken, chat, { messages, stream: true }));
  expect(JSON.parse(events.at(-1)!)).toMatchObject({ error: { code: "device_lost", type: "server_error" } });
  isBroken = false;
  expect((await post(broken, chat, { messages, max_tokens: 1 })).status).toBe(200);
  await broken.close();
});
