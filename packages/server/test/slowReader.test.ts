import { expect, test } from "vitest";
import { eventsOf, post, TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const messages = [{ role: "user", content: "Tell me a story about a fox." }];

test("a stream that nobody reads lets another request run, and goes on with the same text", async () => {
  await using served = await TestModel.load({ sequences: 1 });
  const handler = served.handler();
  const request = { messages, max_tokens: 30, temperature: 0 };
  const own = await served.model.createSession().complete(messages, { maxTokens: 30, temperature: 0 });
  const slow = await post(handler, chat, { ...request, stream: true });
  const other = await post(handler, chat, { ...request, max_tokens: 3 });
  expect(await other.json()).toMatchObject({ usage: { completion_tokens: 3 } });
  const events = await eventsOf(slow);
  const texts = events
    .slice(0, -1)
    .map((event) => (JSON.parse(event) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content);
  expect(texts.join("")).toBe(own.text);
  await handler.close();
});
