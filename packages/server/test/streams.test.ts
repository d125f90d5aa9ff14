import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, expect, test, vi } from "vitest";
import { createHandler, type Handler } from "../src/index.ts";
import { generating, type ScriptedAnswer, scripted } from "./scriptedModel.ts";
import { eventsOf, fetchFrom, post, TestModel } from "./serving.ts";

const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
const thought: ScriptedAnswer = { reasoning: "Foxes are sly.", text: "A fox ran." };
const broken: ScriptedAnswer = { text: "A fox", error: Object.assign(new Error("the device was lost"), { code: "deviceLost" }) };

const served = await TestModel.forFile();

afterEach(() => {
  vi.useRealTimers();
});

/** A handler whose model gives these answers, and clients of it. */
function answering(...answers: readonly ScriptedAnswer[]): { handler: Handler; openai: OpenAI; anthropic: Anthropic } {
  const handler = createHandler({ models: { fable: scripted(served, answers).model } });
  const options = { apiKey: "none", fetch: fetchFrom(handler), maxRetries: 0 };
  return {
    handler,
    openai: new OpenAI({ ...options, baseURL: "http://localhost/v1" }),
    anthropic: new Anthropic({ ...options, baseURL: "http://localhost" }),
  };
}

test("chat streams end with the finish, the times and [DONE]", async () => {
  const { handler } = answering(thought);
  const events = await eventsOf(await post(handler, "/v1/chat/completions", { messages, stream: true }));
  expect(events.at(-1)).toBe("[DONE]");
  expect(JSON.parse(events.at(-2)!)).toMatchObject({
    choices: [{ delta: {}, finish_reason: "stop" }],
    timings: { cache_n: 3, prompt_n: 1, prompt_ms: 1, predicted_n: 2, predicted_ms: 2 },
  });
  expect(events.slice(0, -1).every((event) => !("usage" in (JSON.parse(event) as object)))).toBe(true);
});

test("reasoning of a chat is apart from its text, as a whole and in pieces, and is counted", async () => {
  const { openai } = answering(thought, thought);
  const usage = {
    prompt_tokens: 4,
    completion_tokens: 2,
    prompt_tokens_details: { cached_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const request = { model: "fable", messages };
  const whole = await openai.chat.completions.create(request);
  expect(whole).toMatchObject({ choices: [{ message: { content: "A fox ran.", reasoning_content: "Foxes are sly." } }], usage });
  const stream = await openai.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
    { role: "assistant", content: "" },
    { reasoning_content: "Foxes are sly." },
    { content: "A fox ran." },
    {},
    undefined,
  ]);
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
});

test("calls of several tools in a stream: index, id and name once each, then their arguments", async () => {
  const feed = (animal: string): { name: string; arguments: { animal: string } } => ({ name: "feed", arguments: { animal } });
  const { openai } = answering({ text: "Wait.", calls: [feed("fox"), feed("owl")] });
  const deltas = [];
  const reasons = [];
  for await (const { choices } of await openai.chat.completions.create({ model: "fable", messages, stream: true })) {
    deltas.push(...(choices[0]!.delta.tool_calls ?? []));
    reasons.push(choices[0]!.finish_reason);
  }
  expect(deltas).toEqual([
    { index: 0, id: "call_0", type: "function", function: { name: "feed", arguments: '{"a' } },
    { index: 0, function: { arguments: 'nimal":"fox"}' } },
    { index: 1, id: "call_1", type: "function", function: { name: "feed", arguments: '{"a' } },
    { index: 1, function: { arguments: 'nimal":"owl"}' } },
  ]);
  expect(reasons.at(-1)).toBe("tool_calls");
});

test("reasoning of a response is an item before the message", async () => {
  const { openai } = answering(thought);
  const stream = openai.responses.stream({ model: "fable", input: "Tell me a story." });
  const types: string[] = [];
  for await (const { type } of stream) types.push(type.replace("response.", ""));
  const part = (delta: string): readonly string[] => ["output_item.added", "content_part.added", `${delta}.delta`, `${delta}.done`];
  expect(types).toEqual([
    ...["created", "in_progress"],
    ...[...part("reasoning_text"), "content_part.done", "output_item.done"],
    ...[...part("output_text"), "content_part.done", "output_item.done"],
    "completed",
  ]);
  expect((await stream.finalResponse()).output).toMatchObject([
    { type: "reasoning", content: [{ type: "reasoning_text", text: thought.reasoning }] },
    { type: "message", content: [{ type: "output_text", text: thought.text }] },
  ]);
});

test("reasoning of a response is its summary, if one is asked for, and may be given back", async () => {
  const { openai } = answering(thought, thought);
  const request = { model: "fable", input: "Tell me a story.", reasoning: { summary: "auto" as const } };
  const types: string[] = [];
  const stream = openai.responses.stream(request);
  for await (const { type } of stream) types.push(type.replace("response.", ""));
  expect(types.slice(2, 8)).toEqual([
    ...["output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"],
    ...["reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"],
  ]);
  const { output } = await stream.finalResponse();
  expect(output[0]).toMatchObject({ type: "reasoning", summary: [{ type: "summary_text", text: thought.reasoning }], content: [] });
  const { model, prompts } = scripted(served, [thought]);
  const again = createHandler({ models: { fable: model } });
  await post(again, "/v1/responses", { input: [{ role: "user", content: "Hello" }, ...output, { role: "user", content: "Go on." }] });
  expect(prompts[0]).toMatchObject([{}, { role: "assistant", content: thought.text, reasoning_content: thought.reasoning }, {}]);
});

test("reasoning of a message is a block of its own", async () => {
  const { anthropic } = answering(thought);
  const types: string[] = [];
  const stream = anthropic.messages.stream({ model: "fable", messages, max_tokens: 10 });
  stream.on("streamEvent", (event) => types.push("delta" in event && "type" in event.delta ? event.delta.type : event.type));
  const { content } = await stream.finalMessage();
  expect(content).toMatchObject([
    { type: "thinking", thinking: thought.reasoning },
    { type: "text", text: thought.text },
  ]);
  expect(types.filter((type) => type !== "signature_delta")).toEqual([
    "message_start",
    ...["content_block_start", "thinking_delta", "content_block_stop"],
    ...["content_block_start", "text_delta", "content_block_stop"],
    ...["message_delta", "message_stop"],
  ]);
});

test("a failure after the first byte has the form of the API", async () => {
  const { handler, anthropic, openai } = answering(broken, broken, broken, broken);
  const request = { model: "fable", messages, max_tokens: 10 };
  await expect(anthropic.messages.stream(request).finalMessage()).rejects.toThrow("the device was lost");
  await expect(openai.chat.completions.stream(request).finalMessage()).rejects.toThrow("the device was lost");
  const lines = (await (await post(handler, "/api/chat", { model: "fable", messages })).text()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object).at(-1)).toEqual({ error: "the device was lost" });
  const messageEvents = await (await post(handler, "/v1/messages", { ...request, stream: true })).text();
  expect(messageEvents).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"the device was lost"\}/);
});

/** The pieces in which a stream of a text for each id is sent. `wait` is called after each id with the pieces so far. */
async function piecesOf(
  ids: readonly number[],
  wait: (pieces: readonly string[], id: number) => Promise<void>,
  path = "/v1/chat/completions",
): Promise<readonly string[]> {
  const pieces: string[] = [];
  const model = generating(served.model, async function* () {
    yield { type: "prefill", done: 4, total: 4 };
    for (const id of ids) {
      yield { type: "text", text: `<${id}>`, ids: [id] };
      await wait(pieces, id);
    }
    yield* served.model.createSession().generate(messages, { maxTokens: 1, temperature: 0 });
  });
  const handler = createHandler({ models: { fable: model } });
  const { body } = await post(handler, path, { model: "fable", messages, max_tokens: 100, stream: true });
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) pieces.push(piece);
  await handler.close();
  return pieces;
}

test.each(["/v1/chat/completions", "/v1/messages"])("the first text of %s is sent before a further one is computed", async (path) => {
  let first = "";
  await piecesOf(
    [0, 1],
    async (pieces, id) => {
      if (id === 0) first = pieces.join("");
    },
    path,
  );
  expect(first).toContain("<0>");
});

test("later texts that come one right after the other are sent together", async () => {
  const ids = Array.from({ length: 40 }, (_, id) => id);
  const pieces = await piecesOf(ids, async () => undefined);
  expect(pieces.join("").match(/<\d+>/g)).toEqual(ids.map((id) => `<${id}>`));
  expect(pieces.length).toBeLessThan(20);
});

test("a text is sent without waiting for the next one", async () => {
  const ids = Array.from({ length: 12 }, (_, id) => id);
  const pieces = await piecesOf(ids, async (sent, id) => {
    while (!sent.join("").includes(`<${id}>`)) await new Promise((resolve) => setTimeout(resolve, 1));
  });
  expect(pieces.join("").match(/<\d+>/g)).toEqual(ids.map((id) => `<${id}>`));
});

test("a silent stream has comments", async () => {
  let goOn: (() => void) | undefined;
  const model = generating(served.model, async function* () {
    yield { type: "prefill", done: 0, total: 4 };
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    yield* served.model.createSession().generate(messages, { maxTokens: 2, temperature: 0 });
  });
  const handler = createHandler({ models: { fable: model }, pingMs: 5 });
  const { body } = await post(handler, "/v1/chat/completions", { messages, stream: true });
  let text = "";
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if ((text.match(/^: ping$/gm) ?? []).length >= 2) goOn?.();
  }
  expect(text).toMatch(/^(: ping\n\n){2,}data: \{.*"role":"assistant".*\[DONE\]\n\n$/s);
  await handler.close();
});

test("a comment comes after the time of silence, which begins again with each chunk", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  let goOn: (() => void) | undefined;
  const wait = (): Promise<void> =>
    new Promise((resolve) => {
      goOn = resolve;
    });
  const model = generating(served.model, async function* () {
    yield { type: "prefill", done: 4, total: 4 };
    await wait();
    yield { type: "text", text: "fox", ids: [1] };
    await wait();
  });
  const handler = createHandler({ models: { fable: model }, pingMs: 1000 });
  const { body } = await post(handler, "/v1/chat/completions", { messages, stream: true });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const reading = (async () => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value;
  })();
  /** Lets time pass, and everything that it starts. */
  const pass = async (ms: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const pings = (): number => (text.match(/^: ping$/gm) ?? []).length;
  await pass(999);
  expect(pings()).toBe(0);
  await pass(1);
  expect(pings()).toBe(1);
  await pass(500);
  goOn!();
  await pass(0);
  expect(text).toContain("fox");
  await pass(999);
  expect(pings()).toBe(1);
  await pass(1);
  expect(pings()).toBe(2);
  goOn!();
  await pass(0);
  await reading;
  await handler.close();
});
