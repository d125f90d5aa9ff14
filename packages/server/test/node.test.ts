import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, expect, test, vi } from "vitest";
import { createHandler, type ServerEvent } from "../src/index.ts";
import { prometheusMetrics, serve } from "../src/node/node.ts";
import { type RawClient, rawClient } from "./rawClient.ts";
import { generating } from "./scriptedModel.ts";
import { TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
/** A text that takes longer than a test. */
const endless = { messages, max_tokens: 490, ignore_eos: true };

const events: ServerEvent[] = [];
const served = await TestModel.forFile({ sequences: 2 });
const handler = served.handler({ metrics: prometheusMetrics({ names: ["centella", "vllm", "llamacpp"] }) });
handler.events.subscribe((event) => events.push(event));
const listener = await serve(handler, { port: 0, headersTimeoutMs: 200, bodyTimeoutMs: 400 });

afterAll(() => listener.close());

/** Connects to the listener and sends bytes. */
const send = (text: string): Promise<RawClient> => rawClient(listener.url, text);

function postText(body: object, headers = ""): string {
  const text = JSON.stringify(body);
  return `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
}

/** The finish of the next text. */
async function nextFinish(act: () => void | Promise<void>): Promise<string> {
  const from = events.length;
  await act();
  return vi.waitFor(() => {
    const event = events.slice(from).find(({ type }) => type === "finished");
    if (event?.type !== "finished") throw new Error("expected a text that has ended");
    return event.finish;
  });
}

test("the official client works over a socket, in pieces", async () => {
  const client = new OpenAI({ apiKey: "none", baseURL: `${listener.url}/v1`, maxRetries: 0 });
  const own = await served.model.createSession().complete(messages, { maxTokens: 8, temperature: 0 });
  const stream = client.chat.completions.stream({ model: "fable", messages, max_tokens: 8, temperature: 0 });
  expect((await stream.finalChatCompletion()).choices[0]!.message.content).toBe(own.text);
});

test("the head of a stream comes with its first event, or by itself before a long prompt", async () => {
  let goOn!: () => void;
  const model = generating(served.model, async function* (prompt) {
    yield { type: "prefill", done: 0, total: 4 };
    if (prompt === "long") await new Promise<void>((resolve) => (goOn = resolve));
    yield* served.model.createSession().generate("fox", { maxTokens: 1, temperature: 0 });
  });
  const streaming = createHandler({ models: { fable: model } });
  const own = await serve(streaming, { port: 0 });
  const pieces: string[] = [];
  for (const prompt of ["short", "long"]) {
    const body = JSON.stringify({ prompt, stream: true });
    const { socket } = await rawClient(
      own.url,
      `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [first] = (await once(socket, "data")) as [string];
    pieces.push(first);
    if (prompt === "long") goOn();
    socket.destroy();
  }
  const head = /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n/s;
  expect(pieces[0]).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n.*data: \{/s);
  expect(pieces[1]!.replace(head, "")).toBe("");
  await own.close();
});

test("a client that leaves in mid-stream frees its sequence", async () => {
  const { socket, received } = await send(postText({ ...endless, stream: true }));
  await vi.waitFor(() => expect(received()).toContain('"content":"'));
  expect(await nextFinish(() => void socket.destroy())).toBe("cancelled");
});

test("a client that leaves before the first byte frees its sequence", async () => {
  const { socket } = await send(postText(endless));
  const from = events.length;
  await vi.waitFor(() =>
    expect(events.slice(from).some(({ type }) => type === "dequeued") || events.at(-1)?.type === "dequeued").toBe(true),
  );
  expect(await nextFinish(() => void socket.destroy())).toBe("cancelled");
});

test("a client that leaves the queue is not computed", async () => {
  const running = await Promise.all([send(postText({ ...endless, stream: true })), send(postText({ ...endless, stream: true }))]);
  await vi.waitFor(() => expect(running.every(({ received }) => received().includes('"content":"'))).toBe(true));
  const from = events.length;
  const waiting = await send(postText(endless));
  await vi.waitFor(() => expect(events.slice(from).some(({ type }) => type === "queued")).toBe(true));
  waiting.socket.destroy();
  await vi.waitFor(() => expect(events.slice(from)).toContainEqual(expect.objectContaining({ type: "dequeued", isAdmitted: false })));
  for (const { socket } of running) socket.destroy();
  await vi.waitFor(() => expect(events.slice(from).filter((event) => event.type === "finished")).toHaveLength(2));
});

test("requests may follow one another on a connection, and come in small pieces", async () => {
  const small = { messages, max_tokens: 1 };
  const { socket, received } = await send(postText(small) + postText(small));
  await vi.waitFor(() => expect(received().match(/"chat\.completion"/g)).toHaveLength(2));
  for (const char of postText(small, "Connection: close\r\n")) socket.write(char);
  await once(socket, "close");
  expect(received().match(/HTTP\/1\.1 200/g)).toHaveLength(3);
});

test.each([
  ["half of its headers", `POST ${chat} HTTP/1.1\r\nHost: loc`],
  ["half of its body", `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"mess`],
])("a client that sends %s is cut off", async (_, text) => {
  const { socket, received } = await send(text);
  await once(socket, "close");
  expect(received()).toMatch(/^HTTP\/1\.1 408/);
});

test("connections above the limit are closed at once", async () => {
  const full = await serve(served.handler(), { port: 0, maxConnections: 2 });
  const clients = await Promise.all(Array.from({ length: 2 }, () => rawClient(full.url)));
  const { socket } = await rawClient(full.url);
  await new Promise<void>((resolve) => (socket.destroyed ? resolve() : void socket.once("close", () => resolve())));
  clients[0]!.socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await vi.waitFor(() => expect(clients[0]!.received()).toMatch(/^HTTP\/1\.1 200/));
  for (const client of clients) client.socket.destroy();
  await full.close();
});

test("other names of this machine are refused", async () => {
  const { socket, received } = await send("GET /v1/models HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n");
  await once(socket, "close");
  expect(received()).toMatch(/^HTTP\/1\.1 403/);
});

test("a host that others can reach needs a key", async () => {
  await expect(serve(handler, { host: "0.0.0.0", port: 0 })).rejects.toThrow(
    'expected API keys for a host that others can reach, got "0.0.0.0"',
  );
  const open = await serve(served.handler(), { host: "0.0.0.0", port: 0, isOpen: true });
  await open.close();
  await expect(serve(handler, { colour: 1 } as never)).rejects.toThrow(expect.objectContaining({ name: "ArgumentError" }));
});

test("a Unix socket serves proxies", async ({ skip }) => {
  skip(process.platform === "win32", "Windows has no Unix sockets");
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  const socketPath = join(folder, "s");
  const proxied = await serve(served.handler(), { socket: socketPath });
  expect(proxied.url).toBe(socketPath);
  const status = await new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath, path: "/health", headers: { host: "example.com" } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject).end();
  });
  expect(status).toBe(200);
  await proxied.close();
  rmSync(folder, { recursive: true });
});

/** Values of metrics by name and labels, as Prometheus reads them. */
function valuesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`expected a line of Prometheus, got ${line}`);
      return [name, Number(value)];
    }),
  );
}

test("metrics count what was sent, under each name", async () => {
  const read = async (): Promise<ReadonlyMap<string, number>> => valuesOf(await (await fetch(`${listener.url}/metrics`)).text());
  const before = await read();
  const answer = await fetch(listener.url + chat, { method: "POST", body: JSON.stringify({ messages, max_tokens: 5, ignore_eos: true }) });
  const { usage } = (await answer.json()) as { usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } } };
  await fetch(listener.url + chat, { method: "POST", body: "{}" });
  const after = await read();
  const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const cached = usage.prompt_tokens_details.cached_tokens;
  expect({
    texts: grown(`centella:texts_total{model="fable",route="${chat}",finish="length"}`),
    succeeded: grown('vllm:request_success_total{model_name="fable",finished_reason="length"}'),
    generated: ["centella:generated_tokens_total", "vllm:generation_tokens_total"].map((name, i) =>
      grown(`${name}{model${i ? "_name" : ""}="fable"}`),
    ),
    predicted: grown("llamacpp:tokens_predicted_total"),
    prompt: grown('vllm:prompt_tokens_total{model_name="fable"}'),
    computed: grown("llamacpp:prompt_tokens_total"),
    firstTokens: grown('vllm:time_to_first_token_seconds_count{model_name="fable"}'),
    queued: grown('centella:queue_seconds_count{model="fable"}'),
    rejected: grown('centella:requests_rejected_total{reason="missing_parameter"}'),
    ok: grown(`centella:responses_total{route="${chat}",status="200"}`),
  }).toEqual({
    texts: 1,
    succeeded: 1,
    generated: [5, 5],
    predicted: 5,
    prompt: usage.prompt_tokens,
    computed: usage.prompt_tokens - cached,
    firstTokens: 1,
    queued: 1,
    rejected: 1,
    ok: 1,
  });
  const gauges = [
    'centella:requests_running{model="fable"}',
    'vllm:num_requests_waiting{model_name="fable"}',
    "llamacpp:requests_deferred",
  ];
  expect(gauges.map((name) => after.get(name))).toEqual([0, 0, 0]);
  expect(after.get("centella:models_loaded")).toBe(1);
  expect(after.get('centella:texts_cancelled_total{model="fable"}')).toBeGreaterThan(0);
  expect([...after.keys()].some((name) => name.startsWith("nodejs_eventloop_lag"))).toBe(true);
});

test("wrong options of metrics are refused, and a server may have none", async () => {
  expect(() => prometheusMetrics({ names: ["mine" as never] })).toThrow('expected some of centella, vllm, llamacpp, got "mine"');
  const response = await served.handler().fetch(new Request("http://localhost/metrics"));
  expect([response.status, await response.json()]).toEqual([501, { error: expect.objectContaining({ code: "not_enabled" }) }]);
});
