import { setTimeout as wait } from "node:timers/promises";
import { DeviceLostError } from "@centella/core";
import type { Model } from "@centella/llm";
import { expect, test } from "vitest";
import { createHandler, type LoadContext, type ModelEvent, type ModelLoader } from "../src/index.ts";
import { scripted } from "./scriptedModel.ts";
import { get, post, TestModel } from "./serving.ts";

const chat = "/v1/chat/completions";
const hello = { messages: [{ role: "user", content: "Hello" }], max_tokens: 1 };

const served = await TestModel.forFile();

/** The model, as one that its handler loads. `disposals` counts how often it was disposed of. */
function disposable(of: Model = served.model): { readonly model: Model; readonly disposals: () => number } {
  let disposals = 0;
  const model = new Proxy(of, {
    get(target, name) {
      if (name === "dispose") return async () => void disposals++;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { model, disposals: () => disposals };
}

/** A loader that waits until it is told to end. */
class SlowLoader implements ModelLoader {
  readonly isLazy: boolean;
  #loads = 0;
  #context: LoadContext | undefined;
  #end: (() => void) | undefined;
  readonly #model: Model;

  constructor(model: Model, isLazy: boolean) {
    this.#model = model;
    this.isLazy = isLazy;
  }

  get loads(): number {
    return this.#loads;
  }

  get context(): LoadContext | undefined {
    return this.#context;
  }

  async load(context: LoadContext): Promise<Model> {
    this.#loads++;
    this.#context = context;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    return this.#model;
  }

  end(): void {
    this.#end!();
  }
}

test("requests are refused while the first model is loading, and health has the progress", async () => {
  const { model, disposals } = disposable();
  const loader = new SlowLoader(model, false);
  const handler = createHandler({ models: { fable: loader } });
  loader.context!.onProgress(1, 4);
  const health = await get(handler, "/health");
  expect([health.status, await health.json()]).toEqual([
    503,
    { status: "loading", progress: 0.25, error: expect.objectContaining({ code: 503 }) },
  ]);
  const early = await post(handler, chat, hello);
  expect([early.status, early.headers.get("retry-after"), await early.json()]).toEqual([
    503,
    "2",
    { error: expect.objectContaining({ code: "loading" }) },
  ]);
  loader.end();
  await expect.poll(async () => (await get(handler, "/health")).status).toBe(200);
  expect((await post(handler, chat, hello)).status).toBe(200);
  await handler.close();
  expect(disposals()).toBe(1);
});

test("a lazy model is loaded once, by the first requests", async () => {
  const loader = new SlowLoader(disposable().model, true);
  const handler = createHandler({ models: { fable: served.model, lazy: loader } });
  expect(await (await get(handler, "/health")).json()).toEqual({ status: "ok" });
  expect(loader.loads).toBe(0);
  const answers = [post(handler, chat, { ...hello, model: "lazy" }), post(handler, chat, { ...hello, model: "lazy" })];
  await expect.poll(() => loader.loads).toBe(1);
  loader.end();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  expect(loader.loads).toBe(1);
  const list = (await (await get(handler, "/v1/models")).json()) as { data: object[] };
  expect(list.data).toMatchObject([{ id: "fable" }, { id: "lazy", status: { value: "loaded" } }]);
  await handler.close();
});

test("an idle model is disposed of, and loaded again by the next request", async () => {
  const { model, disposals } = disposable();
  let loads = 0;
  const states: string[] = [];
  const load = async (): Promise<Model> => {
    loads++;
    return model;
  };
  const handler = createHandler({ models: { fable: { load, isLazy: true, idleMs: 20 } } });
  handler.events.subscribe((event) => {
    if (event.type === "model") states.push((event as ModelEvent).state);
  });
  expect((await post(handler, chat, hello)).status).toBe(200);
  await expect.poll(() => disposals()).toBe(1);
  expect((await post(handler, chat, hello)).status).toBe(200);
  expect(loads).toBe(2);
  expect(states.slice(0, 5)).toEqual(["loading", "loaded", "unloaded", "loading", "loaded"]);
  await handler.close();
});

test("a model in use is not disposed of", async () => {
  const { model, disposals } = disposable();
  const handler = createHandler({ models: { fable: { load: async () => model, isLazy: true, idleMs: 1 } } });
  const stream = await post(handler, chat, { ...hello, stream: true });
  await wait(30);
  expect(disposals()).toBe(0);
  await stream.text();
  await expect.poll(() => disposals()).toBe(1);
  await handler.close();
});

test("a model that cannot be loaded is a failure of the server, and the next request tries again", async () => {
  const reasons: unknown[] = [];
  let loads = 0;
  const load = async (): Promise<Model> => {
    if (loads++ === 0) throw new Error("/secret/path is missing");
    return disposable().model;
  };
  const handler = createHandler({ models: { fable: { load } } });
  handler.events.subscribe((event) => {
    if (event.type === "model" && event.state === "failed") reasons.push(event.error);
  });
  await expect.poll(async () => await (await get(handler, "/health")).json()).toMatchObject({ status: "failed" });
  expect(reasons).toEqual([expect.objectContaining({ message: "/secret/path is missing" })]);
  expect((await post(handler, chat, hello)).status).toBe(200);
  expect((await get(handler, "/health")).status).toBe(200);
  await handler.close();
});

test("closing waits for open requests, refuses others, and ends those that take too long", async () => {
  const handler = served.handler();
  const stream = await post(handler, chat, { ...hello, max_tokens: 300, ignore_eos: true, stream: true });
  const closing = handler.close({ drainMs: 5000 });
  const health = await get(handler, "/health");
  expect([health.status, await health.json()]).toEqual([503, expect.objectContaining({ status: "draining" })]);
  expect((await post(handler, chat, hello)).status).toBe(503);
  expect(await stream.text()).toMatch(/"finish_reason":"length".*\[DONE\]/s);
  await closing;

  const impatient = served.handler();
  const long = await post(impatient, chat, { ...hello, max_tokens: 400, ignore_eos: true, stream: true });
  const text = long.text();
  await impatient.close({ drainMs: 1 });
  expect(await text).toMatch(/"finish_reason":"length".*\[DONE\]/s);
});

test("a time limit ends a text as its length would", async () => {
  const handler = served.handler({ requestTimeoutMs: 5 });
  const response = await post(handler, chat, { ...hello, max_tokens: 490, ignore_eos: true });
  const { choices, usage } = (await response.json()) as { choices: { finish_reason: string }[]; usage: { completion_tokens: number } };
  expect(choices[0]!.finish_reason).toBe("length");
  expect(usage.completion_tokens).toBeLessThan(490);
  await handler.close();
});

test("wrong options are refused", () => {
  const { model } = served;
  const wrong =
    (options: object): unknown =>
    () =>
      createHandler({ models: { fable: model }, ...options } as never);
  for (const options of [
    { models: {} },
    { models: undefined },
    { colour: 1 },
    { maxQueue: -1 },
    { keys: [{}] },
    { keys: [{ key: "" }] },
    { hosts: [1] },
    // Timers would fire at once.
    { queueTimeoutMs: 2 ** 31 },
    { models: { fable: { load: async () => model, idleMs: 2 ** 31 } } },
  ])
    expect(wrong(options)).toThrow(expect.objectContaining({ name: "ArgumentError" }));
});

test("models that were not used for the longest time are unloaded while all take more memory than they may", async () => {
  const loads: string[] = [];
  const loader = (name: string): ModelLoader => ({
    isLazy: true,
    load: async () => {
      loads.push(name);
      return disposable().model;
    },
  });
  const { weights, cache } = served.model.info.memory;
  const handler = createHandler({
    models: { a: loader("a"), b: loader("b"), c: loader("c") },
    maxModelMemory: 2 * (weights + cache),
  });
  const use = async (model: string): Promise<number> => (await post(handler, chat, { ...hello, model })).status;
  // The third one is one too many: b was not used for the longest time.
  for (const model of ["a", "b", "a", "c", "a"]) expect(await use(model)).toBe(200);
  expect(loads).toEqual(["a", "b", "c"]);
  expect(await use("b")).toBe(200);
  expect(loads).toEqual(["a", "b", "c", "b"]);
  await handler.close();
});

test("a model whose device is lost is loaded again once, and counts as failed after that", async () => {
  const lost = new DeviceLostError("gpu", "it is gone");
  const loaded: ReturnType<typeof disposable>[] = [];
  const load = async (): Promise<Model> => {
    const answer = loaded.length < 2 ? { error: lost } : { text: "back" };
    return loaded[loaded.push(disposable(scripted(served, [answer]).model)) - 1]!.model;
  };
  const handler = createHandler({ models: { fable: { load } } });
  const statusOf = async (): Promise<number> => (await get(handler, "/health")).status;
  await expect.poll(async () => await statusOf()).toBe(200);
  expect((await post(handler, chat, hello)).status).toBe(500);
  await expect.poll(async () => await statusOf()).toBe(200);
  expect(loaded.map(({ disposals }) => disposals())).toEqual([1, 0]);
  expect((await post(handler, chat, hello)).status).toBe(500);
  expect(await statusOf()).toBe(503);
  // The next request tries again.
  expect((await post(handler, chat, hello)).status).toBe(200);
  expect(await statusOf()).toBe(200);
  await handler.close();
});

test("a model that has answered since its device was lost is loaded again after the next loss", async () => {
  const lost = new DeviceLostError("gpu", "it is gone");
  let loads = 0;
  const load = async (): Promise<Model> => {
    loads++;
    return disposable(scripted(served, [{ text: "back" }, { error: lost }]).model).model;
  };
  const handler = createHandler({ models: { fable: { load } } });
  const ready = (): Promise<void> => expect.poll(async () => (await get(handler, "/health")).status).toBe(200);
  for (let loss = 1; loss <= 3; loss++) {
    await ready();
    expect((await post(handler, chat, hello)).status).toBe(200);
    expect((await post(handler, chat, hello)).status).toBe(500);
  }
  await ready();
  expect(loads).toBe(4);
  await handler.close();
});

test("keep_alive of Ollama's API says how long a lazy model stays loaded", async () => {
  const { model, disposals } = disposable();
  const handler = createHandler({ models: { fable: { load: async () => model, isLazy: true, idleMs: 3_600_000 } } });
  const ask = (path: string, body: object) => post(handler, path, { model: "fable", ...body });
  const text = { stream: false, messages: hello.messages, options: { num_predict: 1 } };
  expect((await ask("/api/chat", { ...text, keep_alive: "15ms" })).status).toBe(200);
  await expect.poll(() => disposals()).toBe(1);
  expect((await ask("/api/embed", { input: "a", keep_alive: -1 })).status).toBe(200);
  expect(await (await ask("/api/generate", { keep_alive: 0 })).json()).toMatchObject({ done_reason: "unload" });
  expect(disposals()).toBe(2);
  expect((await ask("/api/chat", { ...text, keep_alive: "soon" })).status).toBe(400);
  await handler.close();
});
