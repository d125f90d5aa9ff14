import { expect, test } from "vitest";
import { createHandler, type Handler, type HandlerOptions, type ServerEvent } from "../src/index.ts";
import { generating } from "./scriptedModel.ts";
import { post, TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const request = { messages: [{ role: "user", content: "A fox." }], max_tokens: 1 };

const served = await TestModel.forFile({ sequences: 2 });
const single = await TestModel.forFile({ sequences: 1 });

/** A server whose texts wait until {@link goOn} is called. */
class HeldServer {
  readonly handler: Handler;
  readonly events: ServerEvent[] = [];
  goOn!: () => void;

  constructor({ model }: TestModel, options: Omit<HandlerOptions, "models"> = {}) {
    const gate = new Promise<void>((resolve) => (this.goOn = resolve));
    const held = generating(model, async function* (prompt, options) {
      await gate;
      yield* model.createSession().generate(prompt, options);
    });
    this.handler = createHandler({ models: { fable: held }, ...options });
    this.handler.events.subscribe((event) => this.events.push(event));
  }

  /** Posts, and waits until the request is in the queue. The status is that of its response. */
  async ask(path: string, body: object): Promise<{ readonly status: Promise<number> }> {
    const count = (): number => this.events.filter(({ type }) => type === "queued").length;
    const before = count();
    const status = post(this.handler, path, body).then((response) => response.status);
    await expect.poll(() => count()).toBe(before + 1);
    return { status };
  }
}

test("requests that wait for a named slot leave the other sequences free, for no longer than the queue allows", async () => {
  const server = new HeldServer(served, { queueTimeoutMs: 100 });
  const holder = await server.ask(chat, { ...request, id_slot: 0 });
  const late = [await server.ask(chat, { ...request, id_slot: 0 }), await server.ask(chat, { ...request, id_slot: 0 })];
  const anonymous = await server.ask(chat, request);
  expect(await Promise.all(late.map(({ status }) => status))).toEqual([503, 503]);
  server.goOn();
  expect([await holder.status, await anonymous.status]).toEqual([200, 200]);
  await server.handler.close();
});

test.each([
  ["a text", chat, request, "/v1/embeddings", { input: "a fox" }],
  ["embeddings", "/v1/embeddings", { input: "a fox" }, chat, request],
])("%s with the lower priority number come before others, whatever these are", async (_, firstPath, first, lastPath, last) => {
  const server = new HeldServer(single);
  const requests = [await server.ask(chat, request)];
  const order: string[] = [];
  server.handler.events.subscribe((event) => {
    if (event.type === "finished" || event.type === "computed") order.push(event.route);
  });
  requests.push(await server.ask(lastPath, { ...last, priority: 2 }));
  requests.push(await server.ask(firstPath, { ...first, priority: 1 }));
  server.goOn();
  expect(await Promise.all(requests.map(({ status }) => status))).toEqual([200, 200, 200]);
  expect(order).toEqual([chat, firstPath, lastPath]);
  await server.handler.close();
});

test("callers take turns, also when one of them counts tokens", async () => {
  const keys = ["a", "b"].map((key) => ({ key, name: key }));
  const server = new HeldServer(single, { keys });
  const order: string[] = [];
  const ask = async (key: string, path: string): Promise<void> => {
    const init = { headers: { authorization: `Bearer ${key}` } };
    const { status } = await post(server.handler, path, request, init);
    expect(status).toBe(200);
    order.push(key);
  };
  const queued = (count: number): Promise<void> =>
    expect.poll(() => server.events.filter(({ type }) => type === "queued")).toHaveLength(count);
  const asked = [];
  for (const [key, path] of [
    ["a", chat],
    ["a", chat],
    ["b", `${chat}/input_tokens`],
  ] as const) {
    asked.push(ask(key, path));
    await queued(asked.length);
  }
  server.goOn();
  await Promise.all(asked);
  expect(order).toEqual(["a", "b", "a"]);
  await server.handler.close();
});
