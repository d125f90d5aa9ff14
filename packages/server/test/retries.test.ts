import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Handler } from "../src/index.ts";
import { fetchFrom, post, TestModel } from "./serving.ts";

const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
const endless = { messages, max_tokens: 490, ignore_eos: true, stream: true };

const served = await TestModel.forFile({ sequences: 1 });

/** The statuses that the client gets while another request runs, which ends when the first status came. */
async function statusesWhileBusy(handler: Handler): Promise<readonly number[]> {
  const headers = { authorization: "Bearer secret" };
  const running = await post(handler, "/v1/chat/completions", endless, { headers });
  const reader = running.body!.getReader();
  await reader.read();
  // The stream is read on, so that it does not count as stalled.
  void (async () => {
    while (!(await reader.read()).done);
  })();
  const statuses: number[] = [];
  const inner = fetchFrom(handler);
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await inner(input, init);
    statuses.push(response.status);
    if (statuses.length === 1) {
      expect(response.headers.get("retry-after")).toBe("1");
      await reader.cancel();
    }
    return response;
  };
  const client = new OpenAI({ apiKey: "secret", baseURL: "http://localhost/v1", fetch, maxRetries: 1 });
  const { choices } = await client.chat.completions.create({ model: "fable", messages, max_tokens: 2 });
  expect(choices[0]!.finish_reason).toBe("length");
  await handler.close();
  return statuses;
}

test.concurrent("the official client tries again after the time that a full queue names", async () => {
  expect(await statusesWhileBusy(served.handler({ maxQueue: 0 }))).toEqual([503, 200]);
});

test.concurrent("and after the time that a key's limit names", async () => {
  const other = await TestModel.load({ sequences: 1 });
  expect(await statusesWhileBusy(other.handler({ keys: [{ key: "secret", maxRequests: 1 }] }))).toEqual([429, 200]);
  await other[Symbol.asyncDispose]();
});
