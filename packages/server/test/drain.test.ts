import { setImmediate as nextTask } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { OpenRequests } from "../src/generation/openRequests.ts";
import { createHandler, type Handler, type HandlerOptions, type ServerEvent } from "../src/index.ts";
import { serve } from "../src/node/node.ts";
import { rawClient } from "./rawClient.ts";
import { generating } from "./scriptedModel.ts";
import { post, TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const endless = { messages: [{ role: "user", content: "Tell me a story." }], max_tokens: 490, ignore_eos: true, stream: true };

const served = await TestModel.forFile();

afterEach(() => {
  vi.useRealTimers();
});

/** A handler whose texts go on until they are told to end. Counts their parts. */
function talking(options: Omit<HandlerOptions, "models"> = {}): {
  readonly handler: Handler;
  readonly parts: () => number;
  /** Number of events of a type so far. */
  readonly count: (type: ServerEvent["type"]) => number;
} {
  let parts = 0;
  const events: ServerEvent[] = [];
  const model = generating(served.model, async function* (_, { signal }) {
    while (!signal!.aborted) {
      parts++;
      yield { type: "text", text: "fox ".repeat(20_000), ids: [1] };
      await nextTask();
    }
    yield* served.model.createSession().generate("fox", { maxTokens: 1 });
  });
  const handler = createHandler({ models: { fable: model }, ...options });
  handler.events.subscribe((event) => events.push(event));
  return { handler, parts: () => parts, count: (type) => events.filter((event) => event.type === type).length };
}

test("a stream that nobody reads ends when the server closes, and can be read later", async () => {
  const handler = served.handler();
  const response = await post(handler, chat, endless);
  await handler.close({ drainMs: 20 });
  await expect.poll(async () => (await served.model.cacheUsage()).usedBlocks).toBe(0);
  expect(await response.text()).toMatch(/"finish_reason":"length".*\[DONE\]\n\n$/s);
});

test("several texts that nobody reads all end", async () => {
  const { handler, count } = talking();
  const response = await post(handler, chat, { ...endless, n: 3 });
  await expect.poll(() => count("dequeued")).toBe(3);
  await handler.close({ drainMs: 20 });
  await expect.poll(() => count("finished")).toBe(3);
  expect((await response.text()).match(/"finish_reason":"length"/g)).toHaveLength(3);
});

test("a stream that nobody reads ends after the time of a request", async () => {
  const { handler } = talking({ requestTimeoutMs: 20 });
  const finished = new Promise<ServerEvent>((resolve) => {
    handler.events.subscribe((event) => {
      if (event.type === "finished") resolve(event);
    });
  });
  const response = await post(handler, chat, endless);
  expect(await finished).toMatchObject({ finish: "length" });
  expect(await response.text()).toMatch(/"finish_reason":"length".*\[DONE\]\n\n$/s);
  await handler.close();
});

test("a client that does not read its socket does not keep the server open", async () => {
  const { handler, parts, count } = talking();
  const listener = await serve(handler, { port: 0 });
  const body = JSON.stringify(endless);
  const { socket } = await rawClient(listener.url);
  socket.pause();
  socket.write(`POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  // Until the buffers of both ends are full.
  for (let before = -1; before !== parts() || before === 0; ) {
    before = parts();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await listener.close({ drainMs: 20 });
  await expect.poll(() => count("finished")).toBe(1);
  socket.destroy();
});

test("a request that cannot be ended is not waited for, and drains at the same time all end", async () => {
  vi.useFakeTimers();
  const open = new OpenRequests();
  const stuck = { finish: vi.fn() };
  const other = { finish: () => open.delete(other) };
  open.add(stuck);
  open.add(other);
  const drains = Promise.all([open.drain(10), open.drain(100)]);
  await vi.advanceTimersByTimeAsync(10);
  expect(stuck.finish).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(60_000);
  await drains;
  open.delete(stuck);
  await Promise.all([open.drain(1000), open.drain(1000)]);
  expect(vi.getTimerCount()).toBe(0);
});
