import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { ServerEvent } from "../src/index.ts";
import { answerRequests, forwardRequests, offerWorker } from "../src/serviceWorker/index.ts";
import { fetchFrom, TestModel } from "./serving.ts";

const messages = [{ role: "user" as const, content: "Tell me a story about a fox." }];
const endless = { messages, max_tokens: 490, ignore_eos: true };

type Listener = (event: object) => void;

const served = await TestModel.forFile({ sequences: 1 });
const handler = served.handler();
const events: ServerEvent[] = [];
/** Pages by their ids: each gets what the service worker posts. */
const pages = new Map<string, Listener>();
const ports: MessagePort[] = [];
let onFetch: Listener;

/** The service worker, a page and the page's worker, in this thread. */
beforeAll(() => {
  handler.events.subscribe((event) => events.push(event));
  const listeners = new Map<string, Listener>();
  vi.stubGlobal("addEventListener", (type: string, listener: Listener) => listeners.set(type, listener));
  vi.stubGlobal("location", { origin: "http://localhost" });
  vi.stubGlobal("clients", {
    get: async (id: string) => (pages.has(id) ? {} : undefined),
    matchAll: async () =>
      [...pages].map(([id, listener]) => ({ id, postMessage: (data: object, sent: MessagePort[]) => listener({ data, ports: sent }) })),
  });
  forwardRequests();
  answerRequests(handler);
  onFetch = listeners.get("fetch")!;
  const onWorkerMessage = listeners.get("message")!;
  const toWorker = {
    postMessage(data: object, sent: MessagePort[]) {
      ports.push(...sent);
      onWorkerMessage({ data, ports: sent });
    },
  };
  const serviceWorker = {
    addEventListener: (_: string, listener: Listener) => pages.set("page", listener),
    removeEventListener: () => pages.delete("page"),
    startMessages: () => undefined,
  };
  vi.stubGlobal("navigator", { serviceWorker });
  offerWorker(toWorker as never);
});

afterAll(() => {
  vi.unstubAllGlobals();
});

beforeEach(() => {
  events.length = 0;
});

/** Fetches through the service worker. Undefined for requests that it leaves to the network. `over` settles when nothing is left to do. */
function dispatch(request: Request): { readonly response: Promise<Response> | undefined; readonly over: Promise<void> | undefined } {
  let [response, over]: [Promise<Response> | undefined, Promise<void> | undefined] = [undefined, undefined];
  onFetch({
    request,
    respondWith: (given: Promise<Response>) => {
      response = given;
    },
    waitUntil: (work: Promise<void>) => {
      over = work;
    },
  });
  return { response, over };
}

const fetchThrough = ((input: string, init?: RequestInit) => dispatch(new Request(input, init)).response) as typeof fetch;

const post = (body: object, init: RequestInit = {}): Request =>
  new Request("http://localhost/v1/chat/completions", { method: "POST", body: JSON.stringify(body), ...init });

const finishes = (): readonly string[] => events.flatMap((event) => (event.type === "finished" ? [event.finish] : []));

test("the official client gets what it gets from the handler", async () => {
  const options = { apiKey: "none", baseURL: "http://localhost/v1", maxRetries: 0 };
  const [direct, through] = [fetchFrom(handler), fetchThrough].map((fetch) => new OpenAI({ ...options, fetch }));
  const request = { model: "fable", messages, max_tokens: 8, temperature: 0 };
  const own = await direct!.chat.completions.create(request);
  expect((await through!.chat.completions.create(request)).choices).toEqual(own.choices);
  const streamed = await through!.chat.completions.stream(request).finalChatCompletion();
  expect(streamed.choices[0]!.message.content).toBe(own.choices[0]!.message.content);
  await expect(through!.models.retrieve("none")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
});

test("a reader that leaves ends its text, before the first byte and after", async () => {
  const { response, over } = dispatch(post({ ...endless, stream: true }));
  const reader = (await response!).body!.getReader();
  await reader.read();
  await reader.cancel();
  await over;
  await expect.poll(() => finishes()).toEqual(["cancelled"]);
  const leaving = new AbortController();
  const early = dispatch(post(endless, { signal: leaving.signal }));
  await expect.poll(() => events.filter(({ type }) => type === "dequeued")).toHaveLength(2);
  leaving.abort();
  await early.over;
  // Nobody reads it.
  expect((await early.response)!.status).toBe(503);
  await expect.poll(() => finishes()).toEqual(["cancelled", "cancelled"]);
});

test("a page that leaves before its whole request was read leaves nothing behind", async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new Error("left")) });
  const init = { method: "POST", body, duplex: "half" };
  const { response, over } = dispatch(new Request("http://localhost/v1/chat/completions", init));
  await expect(response).rejects.toThrow("left");
  await over;
});

test("a service worker that was ended frees its sequences", async () => {
  const { response } = dispatch(post({ ...endless, stream: true }));
  const reader = (await response!).body!.getReader();
  await reader.read();
  // Both ends of a channel are closed at once.
  ports.at(-1)!.close();
  await expect(reader.read()).rejects.toThrow("the page with the model was closed");
  await expect.poll(() => finishes()).toEqual(["cancelled"]);
});

test("other paths and origins go to the network, and responses may have no body", async () => {
  for (const url of ["http://localhost/page.js", "http://localhost/v10/models", "http://elsewhere/v1/models"])
    expect(dispatch(new Request(url)).response).toBeUndefined();
  const preflight = { method: "OPTIONS", headers: { origin: "http://localhost", "access-control-request-method": "POST" } };
  const { response, over } = dispatch(new Request("http://localhost/v1/models", preflight));
  expect(await response).toMatchObject({ status: 204, body: null });
  await over;
});

test("without a page that offers a model, requests get 503; pages without models are passed over", async () => {
  const offering = pages.get("page")!;
  pages.delete("page");
  const alone = dispatch(post({ messages }));
  const refused = (await alone.response)!;
  expect([refused.status, refused.headers.get("retry-after"), await refused.json()]).toEqual([
    503,
    "1",
    { error: { message: expect.stringContaining("open page"), type: "unavailable_error", code: "no_client", param: null } },
  ]);
  await alone.over;
  pages.set("silent", () => undefined);
  pages.set("page", offering);
  expect((await dispatch(post({ messages, max_tokens: 1 })).response)!.status).toBe(200);
  pages.delete("silent");
});

test("wrong arguments are refused by name", () => {
  expect(() => forwardRequests({ path: "v1" })).toThrow('expected path to be a text with slashes at both ends, got "v1"');
  expect(() => answerRequests({} as never)).toThrow("answerRequests: expected a handler");
  expect(() => offerWorker({} as never)).toThrow("offerWorker: expected a worker");
});
