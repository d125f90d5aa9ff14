import { wasm } from "@centella/backend-wasm";
import { type BackendFactory, createRuntime, DisposedError, type Runtime, reference } from "@centella/core";
import { afterEach, describe, expect, test } from "vitest";
import { Session } from "../src/generate/session.ts";
import { loadModel, type Model } from "../src/index.ts";
import { Model as ModelClass } from "../src/model/model.ts";
import { tiny } from "./modelFiles.ts";

const greedy = { temperature: 0 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];

/** Calls each method as users do. */
type Calls<T> = Readonly<Record<string, (of: T) => unknown>>;

const sessionCalls: Calls<Session> = {
  complete: (session) => session.complete({ ids: once }),
  fork: (session) => session.fork(),
  generate: (session) => session.generate({ ids: once }).next(),
  reset: (session) => session.reset(),
  run: (session) => session.run("Hello", { tools: [] }).next(),
  save: (session) => session.save(),
  truncate: (session) => session.truncate(0),
};

const modelCalls: Calls<Model> = {
  cacheUsage: (model) => model.cacheUsage(),
  createSession: (model) => model.createSession(),
  embed: (model) => model.embed(["A fox."]),
  logits: (model) => model.logits(once),
  perplexity: (model) =>
    model.perplexity(
      Array.from({ length: 16 }, (_, i) => i),
      { contextLength: 8 },
    ),
  rerank: (model) => model.rerank("Who ran?", ["A fox."]),
  restoreSession: (model) => model.restoreSession(new Uint8Array(64)),
};

/** Names of a class's methods. */
function methodsOf({ prototype }: { readonly prototype: object }): readonly string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === "function" && name !== "constructor" && name !== "dispose" ? [name] : [],
  );
}

async function expectDisposed<T>(calls: Calls<T>, of: T, what: RegExp): Promise<void> {
  for (const [name, call] of Object.entries(calls)) {
    const error = await (async () => call(of))().catch((caught: unknown) => caught);
    expect(error, name).toBeInstanceOf(DisposedError);
    expect((error as Error).message, name).toMatch(what);
  }
}

test("the tables have every method", () => {
  expect(Object.keys(sessionCalls)).toEqual(methodsOf(Session).toSorted());
  expect(Object.keys(modelCalls)).toEqual(methodsOf(ModelClass).toSorted());
});

const factories: readonly BackendFactory[] = [reference(), wasm({ threads: 1 }), wasm({ threads: 2 })];

describe.each(factories.map((factory, i) => [`${factory.name} ${i}`, factory] as const))("disposal on %s", (_name, factory) => {
  const runtimes: Runtime[] = [];
  const open = async (): Promise<Runtime> => {
    const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
    runtimes.push(runtime);
    return runtime;
  };
  afterEach(async () => {
    for (const runtime of runtimes.splice(0)) await runtime.dispose();
  });

  test("every method of a model and its sessions refuses after the model's dispose", async () => {
    const model = await loadModel(tiny, { runtime: await open(), contextLength: 64 });
    const [session, used] = [model.createSession(), model.createSession({ messages: [{ role: "user", content: "Hello" }] })];
    await used.complete({ ids: once }, { ...greedy, maxTokens: 4 });
    await model.embed(["A fox."]);
    await used.save();
    await model.dispose();
    await expectDisposed(modelCalls, model, /model: used after dispose/);
    for (const of of [session, used]) await expectDisposed(sessionCalls, of, /model: used after dispose/);
    // What needs no device stays.
    expect([...model.tokenizer.encode("Once upon a time")]).toEqual(once);
    expect(model.info.contextLength).toBe(64);
    expect(model.metadata.string("general.architecture")).toBe("llama");
    expect(model.chatTemplate.source).not.toBe("");
    expect(used.messages).toHaveLength(1);
    used.dispose();
    await model.dispose();
  });

  test("every method of a session refuses after the session's dispose", async () => {
    await using model = await loadModel(tiny, { runtime: await open(), contextLength: 64 });
    const session = model.createSession();
    await session.complete({ ids: once }, { ...greedy, maxTokens: 2 });
    session.dispose();
    session.dispose();
    await expectDisposed(sessionCalls, session, /session: used after dispose/);
    expect(session.messages).toEqual([]);
  });

  test("every method that computes refuses after the runtime's dispose, and the model can still be disposed of", async () => {
    const runtime = await open();
    const model = await loadModel(tiny, { runtime, contextLength: 64 });
    const session = model.createSession();
    await session.complete({ ids: once }, { ...greedy, maxTokens: 2 });
    await runtime.dispose();
    // This model is no reranker, and says so first.
    const { cacheUsage: _, createSession: __, restoreSession: ___, rerank: ____, ...computing } = modelCalls;
    await expectDisposed(computing, model, /used after dispose/);
    const { fork: _____, reset: ______, truncate: _______, ...ofSession } = sessionCalls;
    await expectDisposed(ofSession, session, /used after dispose/);
    await expect(loadModel(tiny, { runtime })).rejects.toThrow(/runtime: used after dispose/);
    await model.dispose();
  });

  test("disposing of a model ends running calls", async () => {
    const model = await loadModel(tiny, { runtime: await open(), contextLength: 256, sequences: 4 });
    const saved = await model.createSession().save();
    const ids = Array.from({ length: 200 }, (_, i) => 300 + i);
    const calls = Promise.allSettled([
      model.createSession().complete({ ids }, greedy),
      model.logits(ids),
      model.embed([{ ids }, { ids }]),
      model.perplexity(ids, { contextLength: 50 }),
      model.createSession().save(),
      model.restoreSession(saved),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 3));
    await model.dispose();
    for (const call of await calls) if (call.status === "rejected") expect(call.reason).toBeInstanceOf(DisposedError);
  });

  test("disposing of a runtime ends running calls", async () => {
    const runtime = await open();
    const model = await loadModel(tiny, { runtime, contextLength: 256, sequences: 4 });
    const ids = Array.from({ length: 200 }, (_, i) => 300 + i);
    const stream = model.createSession().generate({ ids: once }, greedy);
    await stream.next();
    const calls = Promise.allSettled([
      model.createSession().complete({ ids }, greedy),
      model.logits(ids),
      model.embed([{ ids }, { ids }]),
      (async () => {
        for await (const _ of stream);
      })(),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 3));
    await runtime.dispose();
    for (const call of await calls) if (call.status === "rejected") expect(call.reason).toBeInstanceOf(DisposedError);
    await model.dispose();
  });

  test.each([0, 1, 5, 20])("disposing of a runtime ends loading after %i steps", async (steps) => {
    const runtime = await open();
    const loading = loadModel(tiny, { runtime, contextLength: 64 }).then(
      (model) => model,
      (error: unknown) => error,
    );
    for (let i = 0; i < steps; i++) await new Promise((resolve) => setImmediate(resolve));
    await runtime.dispose();
    const result = await loading;
    if (result instanceof Error) expect(result).toBeInstanceOf(DisposedError);
    else await (result as Model).dispose();
  });

  test("disposing of a runtime while weights are loaded ends the loading", async () => {
    const runtime = await open();
    let disposal: Promise<void> | undefined;
    const onProgress = (): void => {
      disposal ??= runtime.dispose();
    };
    await expect(loadModel(tiny, { runtime, contextLength: 64, onProgress })).rejects.toBeInstanceOf(DisposedError);
    await disposal;
  });
});
