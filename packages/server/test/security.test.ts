import { expect, test } from "vitest";
import { createHandler } from "../src/index.ts";
import { get, post, TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const hello = { messages: [{ role: "user", content: "Hello" }], max_tokens: 2 };

const served = await TestModel.forFile();
const handler = served.handler({
  keys: [{ key: "first-secret" }, { key: "second-secret", name: "small", maxTokens: 3, maxContext: 60, maxRequests: 1 }],
  corsOrigins: ["https://app.example"],
});

test.each([
  ["no key", {}, 401],
  ["another key", { authorization: "Bearer other" }, 401],
  ["a part of a key", { authorization: "Bearer first-secre" }, 401],
  ["another scheme", { authorization: "Basic first-secret" }, 401],
  ["a key", { authorization: "Bearer first-secret" }, 200],
  ["a key in lower case", { authorization: "bearer first-secret" }, 200],
  ["a key as Anthropic's clients send it", { "x-api-key": "second-secret" }, 200],
])("%s", async (_, headers, status) => {
  const response = await post(handler, chat, hello, { headers: headers as Record<string, string> });
  expect(response.status).toBe(status);
  const body = await response.text();
  if (status === 401) expect(JSON.parse(body)).toMatchObject({ error: { code: "invalid_api_key" } });
  expect(body).not.toContain("secret");
});

test("everything but health needs a key, also paths that do not exist", async () => {
  expect((await get(handler, "/health")).status).toBe(200);
  for (const path of ["/v1/models", "/metrics", "/props", "/nothing", "/health/x"]) expect((await get(handler, path)).status).toBe(401);
});

test("a body without a key is not read", async () => {
  let wasRead = false;
  const body = new ReadableStream(
    {
      pull(controller) {
        wasRead = true;
        controller.enqueue(new Uint8Array(1000));
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request(`http://localhost${chat}`, { method: "POST", body, duplex: "half" } as RequestInit);
  expect((await handler.fetch(request)).status).toBe(401);
  expect(wasRead).toBe(false);
});

test("a key's caps hold", async () => {
  const headers = { authorization: "Bearer second-secret" };
  const short = await post(handler, chat, { ...hello, max_tokens: 50, ignore_eos: true }, { headers });
  expect(await short.json()).toMatchObject({ usage: { completion_tokens: 3 }, choices: [{ finish_reason: "length" }] });
  const long = await post(handler, chat, { messages: [{ role: "user", content: "fox ".repeat(60) }] }, { headers });
  expect([long.status, await long.json()]).toEqual([400, { error: expect.objectContaining({ code: "context_length_exceeded" }) }]);
});

test("a key's context ends its texts", async () => {
  const capped = served.handler({ keys: [{ key: "k", maxContext: 40 }] });
  const response = await post(capped, chat, { ...hello, max_tokens: 400, ignore_eos: true }, { headers: { "x-api-key": "k" } });
  const { usage, choices } = (await response.json()) as { usage: { total_tokens: number }; choices: { finish_reason: string }[] };
  expect(choices[0]!.finish_reason).toBe("length");
  expect(usage.total_tokens).toBeGreaterThanOrEqual(40);
  // Runs that were queued may add some tokens.
  expect(usage.total_tokens).toBeLessThan(50);
  await capped.close();
});

test("a key has at most so many requests as it may have", async () => {
  const headers = { authorization: "Bearer second-secret" };
  const first = await post(handler, chat, { ...hello, stream: true }, { headers });
  const second = await post(handler, chat, hello, { headers });
  expect([second.status, second.headers.get("retry-after")]).toEqual([429, "1"]);
  await first.text();
  expect((await post(handler, chat, hello, { headers })).status).toBe(200);
});

test.each([
  ["localhost:8080", 200],
  ["127.0.0.1:1", 200],
  ["[::1]:8080", 200],
  ["attacker.example", 403],
  ["localhost.attacker.example", 403],
  ["127.0.0.1.attacker.example", 403],
])("with a list of hosts, %s is %i", async (host, status) => {
  const open = served.handler({ hosts: ["localhost"] });
  const response = await open.fetch(new Request("http://localhost/v1/models", { headers: { host } }));
  expect(response.status).toBe(status);
});

test.each([
  ["https://app.example", true],
  ["http://localhost:3000", true],
  ["http://127.0.0.1:5173", true],
  ["https://other.example", false],
  ["https://localhost.example", false],
  ["null", false],
])("a page of %s may read: %s", async (origin, isAllowed) => {
  const preflight = await handler.fetch(
    new Request(`http://localhost${chat}`, { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } }),
  );
  expect(preflight.headers.get("access-control-allow-origin")).toBe(isAllowed ? origin : null);
  const response = await get(handler, "/health", { headers: { origin } });
  expect(response.headers.get("access-control-allow-origin")).toBe(isAllowed ? origin : null);
});

test.each<readonly [string, Record<string, string>, number]>([
  ["no page", {}, 200],
  ["a page of the list", { origin: "https://app.example" }, 200],
  ["a page of this machine", { origin: "http://localhost:3000" }, 200],
  ["a page of the server", { origin: "https://llm.example", host: "llm.example" }, 200],
  ["a page of the server with a port", { origin: "http://llm.example:8080", host: "llm.example:8080" }, 200],
  ["a page of the server after a proxy", { origin: "https://llm.example", host: "inner:8080", "sec-fetch-site": "same-origin" }, 200],
  ["a foreign page", { origin: "https://other.example", "content-type": "text/plain" }, 403],
  ["a foreign page with a key", { origin: "https://other.example", authorization: "Bearer first-secret" }, 403],
  ["a page of another port", { origin: "http://llm.example:81", host: "llm.example:8080" }, 403],
  ["a page of another site", { origin: "https://other.example", "sec-fetch-site": "cross-site" }, 403],
  ["a page without an origin", { origin: "null" }, 403],
])("a request of %s", async (_, headers, status) => {
  let unloads = 0;
  const load = async (): Promise<typeof served.model> =>
    new Proxy(served.model, {
      get: (target, name) => (name === "dispose" ? async () => void unloads++ : Reflect.get(target, name, target)),
    });
  const open = createHandler({ models: { fable: { load, isLazy: true } }, corsOrigins: ["https://app.example"] });
  await post(open, "/models/load", { model: "fable" });
  const response = await post(open, "/models/unload", { model: "fable" }, { headers });
  expect([response.status, unloads]).toEqual([status, status === 200 ? 1 : 0]);
  if (status === 403) {
    expect(await response.json()).toMatchObject({ error: { code: "forbidden_origin" } });
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  }
  await open.close();
});

test("every page may send requests if the server says so", async () => {
  const open = served.handler({ corsOrigins: ["*"] });
  expect((await post(open, chat, hello, { headers: { origin: "https://other.example" } })).status).toBe(200);
});

test("a request keeps its own id, if that is harmless", async () => {
  const given = await get(handler, "/health", { headers: { "x-request-id": "trace-1.2" } });
  expect(given.headers.get("x-request-id")).toBe("trace-1.2");
  const forged = await get(handler, "/health", { headers: { "x-request-id": '"}{"level":"error' } });
  expect(forged.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
});

test("no event has a prompt or a key", async () => {
  const events: unknown[] = [];
  const unsubscribe = handler.events.subscribe((event) => events.push(event));
  const messages = [{ role: "user", content: "a very private matter" }];
  await post(handler, chat, { messages, max_tokens: 1 }, { headers: { authorization: "Bearer first-secret" } });
  unsubscribe();
  expect(events.map((event) => (event as { type: string }).type)).toEqual(["queued", "dequeued", "released", "finished", "response"]);
  expect(JSON.stringify(events)).not.toMatch(/private|secret/);
});
