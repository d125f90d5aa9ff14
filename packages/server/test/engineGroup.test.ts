import { expect, test } from "vitest";
import { textOf } from "../src/generation/promptText.ts";
import { createHandler, type Engine, type GroupedEngine, groupEngines, type Handler } from "../src/index.ts";
import { Dispatcher } from "../src/models/dispatcher.ts";
import { post, TestModel } from "./serving.ts";

const [first, second] = [await TestModel.forFile({ sequences: 2 }), await TestModel.forFile({ sequences: 2 })];

const beginning = "Once upon a time there was a little fox who lived in the forest by the sea. ".repeat(8);

/** A model that counts its texts, and is not disposed of. */
class Counted implements GroupedEngine {
  texts = 0;
  disposals = 0;
  readonly #model: Engine;

  constructor(model: Engine) {
    this.#model = model;
  }

  get info() {
    return this.#model.info;
  }

  createSession() {
    this.texts++;
    return this.#model.createSession();
  }

  restoreSession(bytes: Uint8Array) {
    return this.#model.restoreSession(bytes);
  }

  cacheUsage() {
    return this.#model.cacheUsage();
  }

  embed(...args: Parameters<Engine["embed"]>) {
    this.texts++;
    return this.#model.embed(...args);
  }

  rerank(...args: Parameters<Engine["rerank"]>) {
    this.texts++;
    return this.#model.rerank(...args);
  }

  async dispose() {
    this.disposals++;
  }
}

function grouped(): { readonly engines: readonly [Counted, Counted]; readonly group: Engine; readonly handler: Handler } {
  const engines = [new Counted(first.model), new Counted(second.model)] as const;
  const { tokenizer, chatTemplate } = first.model;
  const group = groupEngines(engines, { tokenizer, chatTemplate });
  return { engines, group, handler: createHandler({ models: { fable: group } }) };
}

async function complete(
  handler: Handler,
  prompt: string,
  more: object = {},
): Promise<{ readonly content: string; readonly tokens_cached: number }> {
  const response = await post(handler, "/completion", { prompt, n_predict: 8, temperature: 0, ignore_eos: true, ...more });
  return (await response.json()) as never;
}

test("an engine with the beginning of a text and room is chosen, or else the one with the least load", () => {
  const dispatcher = new Dispatcher([2, 2]);
  const [a, b] = ["a".repeat(600), "b".repeat(300)];
  expect([dispatcher.enter(a), dispatcher.enter(b)]).toEqual([0, 1]);
  expect(dispatcher.enter(b)).toBe(1);
  // The second engine is full, so that the beginning is computed again.
  expect(dispatcher.enter(b)).toBe(0);
  // Both are full: the loads are equal, and the first one is taken.
  expect(dispatcher.enter(`${b}x`)).toBe(0);
  expect(dispatcher.enter("short")).toBe(1);
  for (const lane of [0, 0, 0, 1, 1, 1]) dispatcher.leave(lane);
  expect(dispatcher.enter(`${a}c`)).toBe(0);
  dispatcher.leave(0);
  expect(dispatcher.enter("short")).toBe(0);
});

test("texts are computed by both engines, and those with equal beginnings by the same", async () => {
  const { engines, group, handler } = grouped();
  expect(group.info).toMatchObject({ sequences: 4, memory: { cache: 2 * first.model.info.memory.cache } });
  const [own, other] = await Promise.all([complete(handler, `${beginning}A`), complete(handler, "The owl")]);
  expect(engines.map(({ texts }) => texts)).toEqual([1, 1]);
  expect(await complete(handler, `${beginning}A`)).toMatchObject({ content: own.content, tokens_cached: expect.any(Number) });
  expect((await complete(handler, `${beginning}B`)).tokens_cached).toBeGreaterThan(100);
  expect(engines.map(({ texts }) => texts)).toEqual([3, 1]);
  expect((await complete(handler, "The owl")).content).toBe(other.content);
  expect((await post(handler, "/v1/embeddings", { input: "a fox" })).status).toBe(200);
  // An engine is asked, whose model does not rank.
  expect((await post(handler, "/rerank", { query: "a fox", documents: ["a", "b"] })).status).toBe(400);
  expect(engines.reduce((sum, { texts }) => sum + texts, 0)).toBe(7);
  const { blocks } = await first.model.cacheUsage();
  expect(await group.cacheUsage()).toEqual({ blockTokens: 32, blocks: 2 * blocks, usedBlocks: 0 });
  await group.dispose();
  expect(engines.map(({ disposals }) => disposals)).toEqual([1, 1]);
  await handler.close();
});

test("an engine that has lost its device gets no more texts", async () => {
  const { engines, handler } = grouped();
  const lost = Object.assign(new Error("the device is lost"), { code: "deviceLost" });
  engines[0].createSession = () => {
    engines[0].texts++;
    return {
      ...engines[1].createSession(),
      generate() {
        throw lost;
      },
    };
  };
  expect(await complete(handler, `${beginning}A`)).toMatchObject({ error: { code: "device_lost" } });
  for (const end of ["A", "B"]) expect((await complete(handler, beginning + end)).content).not.toBe("");
  expect(engines[0].texts).toBe(1);
  await handler.close();
});

test("a slot stays on its engine, and is restored on one of them", async () => {
  const { engines, group, handler } = grouped();
  const session = group.createSession();
  for await (const _ of session.generate(beginning, { raw: true, maxTokens: 1 }));
  const bytes = await session.save();
  const restored = await group.restoreSession(bytes);
  restored.reset();
  let cached = 0;
  for await (const part of restored.generate(beginning, { raw: true, maxTokens: 1 }))
    if (part.type === "finish") cached = part.usage.cachedTokens;
  expect(cached).toBeGreaterThan(100);
  const texts = engines.map((engine) => engine.texts);
  for (let i = 0; i < 3; i++) await complete(handler, `${i} words`, { id_slot: 2 });
  expect(engines.map((engine, i) => engine.texts - texts[i]!).sort()).toEqual([0, 1]);
  await handler.close();
});

test("a gap begins with the text of its files", () => {
  const files = [{ name: "fox.txt", text: "A fox." }];
  expect(textOf({ prefix: "a", suffix: "b", files })).toBe("fox.txt\nA fox.a");
  expect(textOf({ prefix: "a", suffix: "b" })).toBe("a");
});
