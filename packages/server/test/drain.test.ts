import { setImmediate as nextTask } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { OpenRequests } from "../src/generation/openRequests.ts";
import { createHandler, type ServerEvent } from "../src/index.ts";
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

test.each([1, 3])("a stream of %s texts that nobody reads ends when the server closes, and can be read later", async (n) => {
  const handler = served.handler();
  const response = await post(handler, chat, { ...endless, n });
  await handler.close({ drainMs: 20 });
  expect((await served.model.cacheUsage()).usedBlocks).toBe(0);
  const text = await response.text();
  expect(text.match(/"finish_reason":"length"/g)).toHaveLength(n);
  expect(text).toMatch(/\[DONE\]\n\n$/);
});

test("a stream that nobody reads ends after the time of a request", async () => {
  const handler = served.handler({ requestTimeoutMs: 20 });
  const events: ServerEvent[] = [];
  handler.events.subscribe((event) => events.push(event));
  const response = await post(handler, chat, endless);
  await vi.waitFor(() => expect(events).toContainEqual(expect.objectContaining({ type: "finished", finish: "length" })));
  expect((await served.model.cacheUsage()).usedBlocks).toBe(0);
  expect(await response.text()).toMatch(/"finish_reason":"length".*\[DONE\]/s);
  await handler.close();
});

test("a client that does not read its socket does not keep the server open", async () => {
  let parts = 0;
  const model = generating(served.model, async function* (_, { signal }) {
    while (!signal!.aborted) {
      parts++;
      yield { type: "text", text: "fox ".repeat(20_000), ids: [1] };
      await nextTask();
    }
    yield* served.model.createSession().generate("fox", { maxTokens: 1 });
  });
  const listener = await serve(createHandler({ models: { fable: model } }), { port: 0 });
  const body = JSON.stringify(endless);
  const { socket } = await rawClient(listener.url);
  socket.pause();
  socket.write(`POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  // Until the buffers of both ends are full.
  for (let before = -1; before !== parts || parts === 0; ) {
    before = parts;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await listener.close({ drainMs: 20 });
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
