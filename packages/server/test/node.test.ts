import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, expect, test } from "vitest";
import { createHandler, type ServerEvent } from "../src/index.ts";
import { serve } from "../src/node/node.ts";
import { type RawClient, rawClient } from "./rawClient.ts";
import { generating } from "./scriptedModel.ts";
import { TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
/** A text that takes longer than a test. */
const endless = { messages, max_tokens: 490, ignore_eos: true };

const events: ServerEvent[] = [];
const served = await TestModel.forFile({ sequences: 2 });
const handler = served.handler();
handler.events.subscribe((event) => events.push(event));
const listener = await serve(handler, { port: 0 });

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
  const finish = (): string | undefined => events.slice(from).find((event) => event.type === "finished")?.finish;
  await expect.poll(finish).toBeDefined();
  return finish()!;
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
    // At once: on a slow machine, a token takes longer than the head waits.
    yield { type: "text", text: "A", ids: [1] };
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
  await expect.poll(() => received()).toContain('"content":"');
  expect(await nextFinish(() => void socket.destroy())).toBe("cancelled");
});

test("a client that leaves before the first byte frees its sequence", async () => {
  const { socket } = await send(postText(endless));
  const from = events.length;
  await expect.poll(() => events.slice(from).some(({ type }) => type === "dequeued") || events.at(-1)?.type === "dequeued").toBe(true);
  expect(await nextFinish(() => void socket.destroy())).toBe("cancelled");
});

test("a client that leaves the queue is not computed", async () => {
  const running = await Promise.all([send(postText({ ...endless, stream: true })), send(postText({ ...endless, stream: true }))]);
  await expect.poll(() => running.every(({ received }) => received().includes('"content":"'))).toBe(true);
  const from = events.length;
  const waiting = await send(postText(endless));
  await expect.poll(() => events.slice(from).some(({ type }) => type === "queued")).toBe(true);
  waiting.socket.destroy();
  await expect.poll(() => events.slice(from)).toContainEqual(expect.objectContaining({ type: "dequeued", isAdmitted: false }));
  for (const { socket } of running) socket.destroy();
  await expect.poll(() => events.slice(from).filter((event) => event.type === "finished")).toHaveLength(2);
});

test("requests may follow one another on a connection, and come in small pieces", async () => {
  const small = { messages, max_tokens: 1 };
  const { socket, received } = await send(postText(small) + postText(small));
  await expect.poll(() => received().match(/"chat\.completion"/g)).toHaveLength(2);
  for (const char of postText(small, "Connection: close\r\n")) socket.write(char);
  await once(socket, "close");
  expect(received().match(/HTTP\/1\.1 200/g)).toHaveLength(3);
});

test.each([
  ["half of its headers", `POST ${chat} HTTP/1.1\r\nHost: loc`],
  ["half of its body", `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"mess`],
])("a client that sends %s is cut off", async (_, text) => {
  const own = await serve(served.handler(), { port: 0, headersTimeoutMs: 200, bodyTimeoutMs: 400 });
  const { socket, received } = await rawClient(own.url, text);
  await once(socket, "close");
  expect(received()).toMatch(/^HTTP\/1\.1 408/);
  await own.close();
});

test("idle connections stay open for longer than those of proxies", async () => {
  const timeouts = [];
  for (const idleTimeoutMs of [undefined, 7000]) {
    const own = await serve(served.handler(), { port: 0, idleTimeoutMs });
    const response = await fetch(`${own.url}/health`);
    timeouts.push(response.headers.get("keep-alive"));
    await response.arrayBuffer();
    await own.close();
  }
  expect(timeouts).toEqual(["timeout=130", "timeout=7"]);
});

test("connections above the limit are closed at once", async () => {
  const full = await serve(served.handler(), { port: 0, maxConnections: 2 });
  const clients = await Promise.all(Array.from({ length: 2 }, () => rawClient(full.url)));
  const { socket } = await rawClient(full.url);
  await new Promise<void>((resolve) => (socket.destroyed ? resolve() : void socket.once("close", () => resolve())));
  clients[0]!.socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await expect.poll(() => clients[0]!.received()).toMatch(/^HTTP\/1\.1 200/);
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
