import { once } from "node:events";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { ServerEvent } from "../src/index.ts";
import { serve } from "../src/node/node.ts";
import { rawClient } from "./rawClient.ts";
import { TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
/** A prompt that takes several steps, and a text that takes longer than a test. */
const endless = { messages: [{ role: "user", content: "A fox ran. ".repeat(100) }], max_tokens: 100, ignore_eos: true, stream: true };

const events: ServerEvent[] = [];
const served = await TestModel.forFile({ sequences: 1, batchSize: 16 });
const handler = served.handler();
handler.events.subscribe((event) => events.push(event));
const listener = await serve(handler, { port: 0 });

afterAll(() => listener.close());

beforeEach(() => {
  events.length = 0;
});

const typesOf = (): readonly string[] => events.map(({ type }) => type);

function postText(body: object, headers = ""): string {
  const text = JSON.stringify(body);
  return `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
}

/** The bodies of responses whose transfer is chunked. */
function bodyOf(received: string): string {
  let [rest, body] = [received.slice(received.indexOf("\r\n\r\n") + 4), ""];
  for (;;) {
    const [size = ""] = rest.split("\r\n", 1);
    const length = Number.parseInt(size, 16);
    if (length === 0) return body;
    // Sizes are in bytes.
    const bytes = Buffer.from(rest.slice(size.length + 2));
    body += bytes.subarray(0, length).toString();
    rest = bytes.subarray(length + 2).toString();
  }
}

const progress = { ...endless, return_progress: true };

test.each<readonly [stage: string, text: string, until: () => boolean]>([
  ["in the request line", "POST /v1/ch", () => true],
  ["in its headers", postText(endless).slice(0, 50), () => true],
  ["in its body", postText(endless).slice(0, -10), () => true],
  ["after its whole request", postText(endless), () => true],
  ["when its prompt waits", postText(endless), () => typesOf().includes("queued")],
  ["when its prompt is computed", postText(progress), () => typesOf().includes("response")],
  ["when its text is computed", postText(endless), () => typesOf().includes("response")],
])("a client that leaves %s leaves nothing behind", async (_, text, until) => {
  const { socket, received } = await rawClient(listener.url, text);
  await expect.poll(() => until()).toBe(true);
  if (text === postText(progress)) await expect.poll(() => received()).toContain("prompt_progress");
  socket.destroy();
  // The only sequence is free: another request is answered.
  const response = await fetch(listener.url + chat, { method: "POST", body: JSON.stringify({ messages, max_tokens: 1 }) });
  expect(response.status).toBe(200);
  await expect.poll(() => typesOf().filter((type) => type === "released")).toHaveLength(events.filter(isAdmitted).length);
  expect(events.filter((event) => event.type === "failure")).toEqual([]);
});

const isAdmitted = (event: ServerEvent): boolean => event.type === "dequeued" && event.isAdmitted;

test("a connection stays open between requests, also after refused ones", async () => {
  const { socket, received } = await rawClient(listener.url);
  const small = { messages, max_tokens: 1 };
  const requests = [postText(small), postText({ messages: [] }), "GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", postText(small)];
  for (const [i, request] of requests.entries()) {
    socket.write(request);
    await expect.poll(() => received().match(/HTTP\/1\.1 \d+/g)).toHaveLength(i + 1);
  }
  expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400", "HTTP/1.1 404", "HTTP/1.1 200"]);
  socket.destroy();
});

test("pipelined requests are answered in their order, streams too", async () => {
  const lengths = [3, 1, 2];
  const requests = lengths.map((max_tokens) => postText({ messages, max_tokens, temperature: 0, stream: true, ignore_eos: true }));
  requests[2] = requests[2]!.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  const { socket, received } = await rawClient(listener.url, requests.join(""));
  await once(socket, "close");
  const counts = received()
    .split("HTTP/1.1 200")
    .slice(1)
    .map((answer) => /"predicted_n":(\d+)/.exec(answer)?.[1]);
  expect(counts.map(Number)).toEqual(lengths);
});

test("bodies may come in chunks that divide characters", async () => {
  const bytes = Buffer.from(JSON.stringify({ messages: [{ role: "user", content: "Füchse 🦊 und Eulen 🦉" }], max_tokens: 1 }));
  const { socket, received } = await rawClient(
    listener.url,
    `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`,
  );
  for (let i = 0; i < bytes.length; i += 3) {
    const piece = bytes.subarray(i, i + 3);
    socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]));
  }
  socket.write("0\r\n\r\n");
  await once(socket, "close");
  const own = await served.model.createSession().complete([{ role: "user", content: "Füchse 🦊 und Eulen 🦉" }], { maxTokens: 1 });
  expect(received()).toMatch(new RegExp(`^HTTP/1\\.1 200.*"prompt_tokens":${own.usage.promptTokens}\\b`, "s"));
});

test("a body in chunks that is too large is refused before its end", async () => {
  const small = await serve(served.handler({ maxBody: 100 }), { port: 0 });
  const { socket, received } = await rawClient(
    small.url,
    `POST ${chat} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n${" ".repeat(128)}\r\n`,
  );
  await expect.poll(() => received()).toMatch(/^HTTP\/1\.1 413/);
  socket.destroy();
  await small.close();
});

test("events of a stream are whole in any division into chunks", async () => {
  const { socket, received } = await rawClient(
    listener.url,
    postText({ messages, max_tokens: 8, temperature: 0, stream: true, grammar: 'root ::= "🦊🦉" "é" "fin"' }, "Connection: close\r\n"),
  );
  await once(socket, "close");
  const events = bodyOf(received()).trimEnd().split("\n\n");
  expect(events.at(-1)).toBe("data: [DONE]");
  const texts = events
    .slice(0, -1)
    .map((event) => (JSON.parse(event.slice("data: ".length)) as { choices: { delta: { content?: string } }[] }).choices[0]!.delta.content);
  expect("🦊🦉éfin".startsWith(texts.join(""))).toBe(true);
  expect(texts.join("")).toContain("🦊");
});
