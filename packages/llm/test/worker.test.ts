import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { wasm } from "@centella/backend-wasm";
import * as core from "@centella/core";
import { createRuntime, type Runtime } from "@centella/core";
import * as gguf from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GenerationPart, Model } from "../src/index.ts";
import * as llm from "../src/index.ts";
import { loadModel, type WorkerModel } from "../src/worker/index.ts";
import { familyModel, readFamilyGolden } from "./familyFixture.ts";
import { tiny } from "./modelFiles.ts";

const greedy = { temperature: 0 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];
const question = [{ role: "user", content: "Tell me a story about a fox." }] as const;

function start(script: string): Worker {
  return new Worker(new URL(`workers/${script}.ts`, import.meta.url), { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
}

describe("a model in a worker", () => {
  const worker = start("serving");
  let runtime: Runtime;
  let local: Model;
  let model: WorkerModel;
  const sizes = { contextLength: 256, sequences: 2 } as const;
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    local = await llm.loadModel(tiny, { runtime, ...sizes });
    model = await loadModel(tiny, { worker, ...sizes });
  });
  afterAll(async () => {
    await model.dispose();
    await local.dispose();
    await runtime.dispose();
    await worker.terminate();
  });

  test("has the same information and generates the same parts as a model without a worker", async () => {
    expect(model.info).toEqual(local.info);
    const parts = async (session: Pick<llm.Session, "generate">): Promise<readonly GenerationPart[]> => {
      const told: GenerationPart[] = [];
      for await (const part of session.generate({ ids: once }, { ...greedy, maxTokens: 60, progress: true, logprobs: 2 })) told.push(part);
      return told.map((part) => (part.type === "finish" ? { ...part, timings: {} as llm.Timings } : part));
    };
    expect(await parts(model.createSession())).toEqual(
      (await parts(local.createSession())).map((part) => (part.type === "finish" ? { ...part, seed: expect.any(Number) } : part)),
    );
  });

  test("constrains answers, and errors of formats keep their class and fields", async () => {
    const schema = { type: "object", properties: { a: { enum: [1, 22, 333] } }, required: ["a"], additionalProperties: false };
    const options = { temperature: 2, seed: 5, format: { schema } } as const;
    const finish = await model.createSession().complete({ ids: once }, options);
    const expected = await local.createSession().complete({ ids: once }, options);
    expect(finish).toMatchObject({ ids: expected.ids, text: expected.text, complete: true, value: expected.value });
    const refused = { format: { schema: { properties: { a: { type: "string", pattern: "(?=a)b" } } } } } as const;
    const error = await model
      .createSession()
      .complete({ ids: once }, refused)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(llm.GrammarError);
    expect(error).toMatchObject({ code: "GRAMMAR_UNSUPPORTED", pointer: "/properties/a", keyword: "pattern" });
  });

  test("drafts tokens with another model", async () => {
    await using drafted = await loadModel(tiny, { worker, ...sizes, draft: { source: tiny, tokens: 4 } });
    expect(drafted.info).toEqual({ ...local.info, draft: local.info });
    const options = { ...greedy, maxTokens: 20 };
    const { text, usage } = await drafted.createSession().complete({ ids: once }, options);
    expect(text).toBe((await local.createSession().complete({ ids: once }, options)).text);
    expect(usage.acceptedTokens).toBe(usage.draftedTokens);
    expect(usage.acceptedTokens).toBeGreaterThan(10);
  });

  test("conversations continue, fork, are truncated, and are restored elsewhere", async () => {
    type Conversation = Pick<llm.Session, "complete" | "dispose" | "messages" | "reset" | "truncate"> & {
      fork(): Pick<llm.Session, "complete" | "messages">;
    };
    const converse = async (of: { createSession(options: llm.SessionOptions): Conversation }): Promise<readonly unknown[]> => {
      const session = of.createSession({ messages: [{ role: "user", content: "Hello." }] });
      const first = await session.complete(question, { ...greedy, maxTokens: 12 });
      const fork = session.fork();
      const second = await session.complete("And then?", { ...greedy, maxTokens: 12 });
      const forked = await fork.complete("And then?", { ...greedy, maxTokens: 12 });
      session.truncate(2);
      const again = await session.complete("Who?", { ...greedy, maxTokens: 8 });
      const { messages } = session;
      session.reset();
      session.dispose();
      return [first.ids, second.ids, forked.ids, again.ids, messages, session.messages, fork.messages.length];
    };
    expect(await converse(model)).toEqual(await converse(local));
    const session = model.createSession();
    await session.complete(question, { ...greedy, maxTokens: 12 });
    const here = await local.restoreSession(await session.save());
    const there = await model.restoreSession(await session.save());
    expect(here.messages).toEqual(session.messages);
    expect(there.messages).toEqual(session.messages);
    const next = (of: Pick<llm.Session, "complete">) => of.complete("And then?", { ...greedy, maxTokens: 12 });
    const wanted = await next(session);
    for (const restored of [await next(here), await next(there)]) {
      expect(restored.ids).toEqual(wanted.ids);
      expect(restored.usage.cachedTokens).toBeGreaterThan(20);
    }
  });

  test("what a session computed stays in the cache after the garbage collector took its handle", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const prompt = { ids: [...once, ...Array.from({ length: 80 }, (_, i) => 100 + i)] };
    let isCollected = false;
    const registry = new FinalizationRegistry(() => {
      isCollected = true;
    });
    await (async () => {
      const session = model.createSession();
      registry.register(session, undefined);
      await session.complete(prompt, { ...greedy, maxTokens: 1 });
    })();
    while (!isCollected) {
      collect();
      await new Promise((resolve) => setTimeout(resolve));
    }
    const { usage } = await model.createSession().complete(prompt, { ...greedy, maxTokens: 1 });
    expect(usage.cachedTokens).toBeGreaterThanOrEqual(64);
  });

  test("logits, embeddings, perplexity and ids are those of a model without a worker", async () => {
    expect(await model.logits(once)).toEqual(await local.logits(once));
    expect(await model.embed(["A fox.", { ids: once }])).toEqual(await local.embed(["A fox.", { ids: once }]));
    const text = readFileSync(new URL("../../../README.md", import.meta.url), "utf8").slice(0, 2000);
    const told: llm.Perplexity | unknown[] = [];
    const options = { contextLength: 64, chunks: 3, onProgress: (progress: unknown) => void told.push(progress) };
    expect(await model.perplexity(text, options)).toEqual(await local.perplexity(text, { contextLength: 64, chunks: 3 }));
    expect(told).toHaveLength(3);
    expect(await model.tokenizer.encode(text)).toEqual(local.tokenizer.encode(text));
    expect(await model.tokenizer.decode(once, { skipSpecial: false })).toBe(local.tokenizer.decode(once, { skipSpecial: false }));
  });

  test("a reranker ranks as without a worker", async () => {
    const golden = readFamilyGolden("bert-rank");
    const { query, documents } = golden.ranked!;
    await using here = await llm.loadModel(familyModel(golden), { runtime });
    await using there = await loadModel(familyModel(golden), { worker });
    expect(await there.rerank(query, documents, { topN: 3 })).toEqual(await here.rerank(query, documents, { topN: 3 }));
    await expect(model.rerank("a", ["b"])).rejects.toBeInstanceOf(core.UnsupportedError);
    await expect(there.rerank(query, ["w1 ".repeat(99)])).rejects.toBeInstanceOf(llm.ContextOverflowError);
  });

  test("two sessions generate at the same time", async () => {
    const [a, b] = [model.createSession(), model.createSession()];
    const texts = await Promise.all([a, b].map((session) => session.complete({ ids: once }, { ...greedy, maxTokens: 20 })));
    expect(texts[0]!.ids).toEqual(texts[1]!.ids);
  });

  test("leaving a loop ends the work and discards the turn; the next turn is as in a fresh session", async () => {
    const session = model.createSession();
    for await (const part of session.generate(question, greedy)) if (part.type === "text") break;
    expect(session.messages).toEqual([]);
    const next = await session.complete(question, { ...greedy, maxTokens: 12 });
    expect(next.ids).toEqual((await local.createSession().complete(question, { ...greedy, maxTokens: 12 })).ids);
  });

  test("an abort rejects with the caller's own reason, before and while generating", async () => {
    const session = model.createSession();
    const reason = { mine: true };
    const controller = new AbortController();
    const generating = (async () => {
      for await (const part of session.generate({ ids: once }, { ...greedy, signal: controller.signal }))
        if (part.type === "text") controller.abort(reason);
    })();
    await expect(generating).rejects.toBe(reason);
    await expect(session.complete({ ids: once }, { signal: controller.signal })).rejects.toBe(reason);
    await expect(model.logits(once, { signal: controller.signal })).rejects.toBe(reason);
    await expect(loadModel(tiny, { worker, signal: controller.signal })).rejects.toBe(reason);
    expect((await session.complete({ ids: once }, { ...greedy, maxTokens: 3 })).ids).toHaveLength(3);
  });

  test("errors are those of a model without a worker, of the same classes", async () => {
    const session = model.createSession();
    const long = { ids: Array.from({ length: 300 }, () => 5) };
    await expect(session.complete(long)).rejects.toBeInstanceOf(llm.ContextOverflowError);
    await expect(session.complete(long)).rejects.toMatchObject({ promptTokens: 300, contextLength: 256, code: "contextOverflow" });
    expect(() => session.generate("a", { temperature: -1 })).toThrow(core.ArgumentError);
    const completed = [session, local.createSession()].map((of) => of.complete("a", { temperature: -1 }));
    for (const one of completed) await expect(one).rejects.toBeInstanceOf(core.ArgumentError);
    expect(() => model.createSession({ message: [] } as never)).toThrow(core.ArgumentError);
    await expect(model.restoreSession(new Uint8Array(8))).rejects.toBeInstanceOf(llm.SnapshotError);
    await expect(session.complete({ ids: [-1] })).rejects.toBeInstanceOf(core.ArgumentError);
    await expect(loadModel(tiny, { worker, contextLengths: 5 } as never)).rejects.toThrow(/contextLengths/);
    await expect(loadModel(tiny, { worker, batchSize: (() => 1) as never })).rejects.toThrow(
      /batchSize to be a whole number from 1, got a function/,
    );
    await expect(loadModel(`${tiny}.missing`, { worker })).rejects.toBeInstanceOf(gguf.GgufError);
    await expect(loadModel(tiny, { runtime } as never)).rejects.toThrow(/expected a worker/);
    const generation = session.generate({ ids: once }, greedy);
    await generation.next();
    await expect(session.complete({ ids: once })).rejects.toBeInstanceOf(llm.BusyError);
    expect(() => session.reset()).toThrow(llm.BusyError);
    await generation.return();
  });

  test("onAbort keep: the answer so far stays, in the page and in the worker", async () => {
    const session = model.createSession();
    const controller = new AbortController();
    const parts: GenerationPart[] = [];
    for await (const part of session.generate(question, { ...greedy, signal: controller.signal, onAbort: "keep" })) {
      parts.push(part);
      if (parts.length === 5) controller.abort();
    }
    const finish = parts.at(-1);
    expect(finish).toMatchObject({ type: "finish", reason: "aborted" });
    if (finish?.type !== "finish") throw new Error("the last part is no finish");
    expect(parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")).toBe(finish.text);
    expect(session.messages).toEqual([...question, { role: "assistant", content: finish.text }]);
    const next = await session.complete("And then?", { ...greedy, maxTokens: 8 });
    const here = local.createSession({ messages: session.messages.slice(0, 2) });
    expect(next.ids).toEqual((await here.complete("And then?", { ...greedy, maxTokens: 8 })).ids);

    const left = model.createSession();
    let text = "";
    for await (const part of left.generate(question, { ...greedy, onAbort: "keep" })) {
      if (part.type === "text") text += part.text;
      if (text.length > 10) break;
    }
    expect(left.messages).toHaveLength(2);
    // The worker may be ahead of the loop.
    expect(String(left.messages[1]!.content).startsWith(text)).toBe(true);
    expect((await local.restoreSession(await left.save())).messages).toEqual(left.messages);

    const before = model.createSession();
    const finished = await before.complete(question, { signal: AbortSignal.abort(), onAbort: "keep" });
    expect(finished).toMatchObject({ reason: "aborted", text: "" });
    expect(before.messages).toEqual(question);
  });

  test("requests wait their turn in the worker, and turns of a session for one another", async () => {
    const { ids } = await local.createSession().complete({ ids: once }, { ...greedy, maxTokens: 8 });
    const options = { ...greedy, maxTokens: 8 };
    const many = Array.from({ length: 6 }, () => model.createSession().complete({ ids: once }, options));
    for (const one of await Promise.all([...many, model.logits(once)])) if ("ids" in one) expect(one.ids).toEqual(ids);
    const session = model.createSession();
    await Promise.all([session.complete(question, options), session.complete("And then?", options)]);
    expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);

    await using strict = await loadModel(tiny, { worker, contextLength: 64, queue: { max: 0 } });
    const stream = strict.createSession().generate({ ids: Array.from({ length: 40 }, (_, i) => 300 + i) }, greedy);
    await stream.next();
    const refusals = await Promise.allSettled([strict.logits(once), strict.logits(once)]);
    for (const one of refusals)
      if (one.status === "rejected") {
        expect(one.reason).toBeInstanceOf(llm.BusyError);
        expect(one.reason).toMatchObject({ running: 1, waiting: 0, maxWaiting: 0 });
      }
    await stream.return();
    await expect(loadModel(tiny, { worker, queue: { max: -1 } })).rejects.toThrow(/queue.max/);
  });

  test("snapshots are trusted by a key, which can be a CryptoKey", async () => {
    const key = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
    const session = model.createSession();
    await session.complete(question, { ...greedy, maxTokens: 8 });
    const [signed, plain] = [await session.save({ key }), await session.save()];
    expect((await model.restoreSession(signed, { key })).messages).toEqual(session.messages);
    expect((await local.restoreSession(signed, { key })).messages).toEqual(session.messages);
    await expect(model.restoreSession(plain, { key })).rejects.toMatchObject({ name: "SnapshotError", reason: "unauthenticated" });
    await expect(model.restoreSession(plain, { key: new Uint8Array(8) })).rejects.toThrow(/a key of at least 16 bytes, got 8/);
    const reason = new Error("changed my mind");
    await expect(session.save({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test("messages are frozen", async () => {
    const given = [{ role: "user", content: "Hello.", extra: { list: [1] } }];
    for (const session of [model.createSession({ messages: given }), local.createSession({ messages: given })]) {
      given[0]!.extra.list.push(2);
      expect(session.messages[0]).toEqual({ role: "user", content: "Hello.", extra: { list: [1] } });
      given[0]!.extra.list.pop();
      await session.complete("And?", { ...greedy, maxTokens: 2 });
      expect(() => (session.messages as llm.ChatMessage[]).push({ role: "user" })).toThrow(TypeError);
      expect(() => ((session.messages[0]!.extra as { list: number[] }).list[0] = 5)).toThrow(TypeError);
    }
  });

  test("malformed messages are refused at the call", async () => {
    const cyclic: Record<string, unknown> = { role: "user", content: "x" };
    cyclic.self = cyclic;
    const malformed: readonly (readonly [unknown, RegExp])[] = [
      [5, /expected messages to be a list of messages \{ role, content \}, got 5/],
      [[null], /message 0: expected an object \{ role, content \}.*, got null/],
      [[question[0], { role: "user" }], /message 1: expected content, got undefined/],
      [[{ role: "user", content: 5 }], /message 0: expected content to be text or a list of parts, got 5/],
      [[{ role: "user", content: [{ type: "image" }] }], /message 0: expected parts/],
      [[{ role: "<|system|>", content: "x" }], /message 0: expected a role/],
      [[{ role: "user", content: "x", onClick: () => 1 }], /message 0: expected an object .* of plain data/],
      [[cyclic], /message 0: expected an object .* without cycles/],
    ];
    for (const of of [model, local]) {
      const session = of.createSession({ messages: question });
      for (const [messages, error] of malformed) {
        expect(() => of.createSession({ messages: messages as never })).toThrow(error);
        expect(() => session.reset(messages as never)).toThrow(error);
        expect(() => session.reset(messages as never)).toThrow(core.ArgumentError);
      }
      // A user message is appended to an unanswered one, but not before it is checked.
      await expect(session.complete([{ role: "user" }], greedy)).rejects.toThrow(/message 0: expected content, got undefined/);
      expect(session.messages).toEqual(question);
    }
  });

  test("a turn whose loop is left before its end is discarded, also if the worker had finished it", async () => {
    for (const of of [model, local]) {
      const session = of.createSession();
      const parts = session.generate("Hello.", { ...greedy, maxTokens: 2, progress: true });
      await parts.next();
      // Meanwhile the worker continues the turn and finishes it.
      for (let i = 0; i < 10; i++) await of.logits(once);
      await parts.return();
      expect(session.messages).toEqual([]);
      const next = await session.complete("Hello.", { ...greedy, maxTokens: 2 });
      expect(session.messages).toEqual([
        { role: "user", content: "Hello." },
        { role: "assistant", content: next.text },
      ]);
      const { messages } = await of.restoreSession(await session.save());
      expect(messages).toEqual(session.messages);
    }
  });

  test("sources of every kind work, including a custom source, whose errors are reported", async () => {
    const bytes = new Uint8Array(readFileSync(tiny));
    const own = { size: bytes.length, read: async (offset: number, length: number) => bytes.subarray(offset, offset + length) };
    const progress: number[] = [];
    for (const source of [bytes, new Blob([bytes]), pathToFileURL(tiny), own, [own]]) {
      await using other = await loadModel(source, { worker, contextLength: 64, onProgress: (done) => void progress.push(done) });
      expect((await other.createSession().complete({ ids: once }, { ...greedy, maxTokens: 4 })).ids).toHaveLength(4);
    }
    expect(progress.length).toBeGreaterThan(5);
    expect(bytes.length).toBe(own.size);
    const broken = { size: bytes.length, read: () => Promise.reject(new RangeError("no disk")) };
    await expect(loadModel(broken, { worker })).rejects.toThrow("no disk");
    await expect(loadModel(5 as never, { worker })).rejects.toThrow(/expected a path, URL, Blob, bytes or a ByteSource/);
  });

  test("a disposed model refuses calls; other models of the worker stay usable", async () => {
    const other = await loadModel(tiny, { worker, contextLength: 64 });
    const session = other.createSession();
    await other.dispose();
    await other.dispose();
    for (const call of [
      () => session.complete({ ids: once }),
      () => session.generate({ ids: once }).next(),
      () => session.save(),
      () => other.logits(once),
      () => other.embed(["x"]),
      () => other.rerank("x", ["y"]),
      () => other.perplexity("x"),
      () => other.restoreSession(new Uint8Array(64)),
    ])
      await expect(call()).rejects.toBeInstanceOf(core.DisposedError);
    for (const call of [() => other.createSession(), () => session.fork(), () => session.reset(), () => session.truncate(0)])
      expect(call).toThrow(core.DisposedError);
    session.dispose();
    const gone = model.createSession();
    gone.dispose();
    gone.dispose();
    await expect(gone.complete("x")).rejects.toThrow(/session: used after dispose/);
    expect(() => gone.fork()).toThrow(core.DisposedError);
    expect(await model.logits(once)).toHaveLength(5 * model.info.vocabSize);
  });
});
