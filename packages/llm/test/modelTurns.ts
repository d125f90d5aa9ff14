import { DisposedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BusyError,
  type ChatMessage,
  type GenerationFinish,
  type GenerationPart,
  loadModel,
  type Model,
  type Session,
} from "../src/index.ts";
import { tiny } from "./modelFiles.ts";
import type { SuiteContext } from "./suiteContext.ts";

const greedy = { temperature: 0 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];
const question: readonly ChatMessage[] = [{ role: "user", content: "Tell me a story about a fox." }];

/** How turns wait for one another, and what remains of aborted turns. */
export function describeTurns({ runtime }: SuiteContext): void {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(tiny, { runtime, contextLength: 256, sequences: 1 });
  });
  afterAll(() => model.dispose());
  const fresh = async (ids: readonly number[], maxTokens: number): Promise<readonly number[]> => {
    using session = model.createSession();
    return (await session.complete({ ids }, { ...greedy, maxTokens })).ids;
  };

  describe("the queue", () => {
    test("generations, logits, embeddings and saves of several sessions wait for a single sequence", async () => {
      const wanted = await fresh(once, 12);
      const [a, b] = [model.createSession(), model.createSession()];
      const [first, second, logits, vectors, saved] = await Promise.all([
        a.complete({ ids: once }, { ...greedy, maxTokens: 12 }),
        b.complete({ ids: once }, { ...greedy, maxTokens: 12 }),
        model.logits(once),
        model.embed(["A fox.", "A crow."]),
        model.createSession({ messages: question }).save(),
      ]);
      expect(first.ids).toEqual(wanted);
      expect(second.ids).toEqual(wanted);
      expect(logits).toEqual(await model.logits(once));
      expect(vectors).toEqual(await model.embed(["A fox.", "A crow."]));
      expect((await model.restoreSession(saved)).messages).toEqual(question);
    });

    test("an abort removes a request", async () => {
      const [a, b] = [model.createSession(), model.createSession()];
      const stream = a.generate({ ids: once }, { ...greedy, maxTokens: 4 });
      await stream.next();
      const controller = new AbortController();
      const { signal } = controller;
      const reason = new Error("changed my mind");
      const waiting = [b.complete("Hello", { signal }), model.logits(once, { signal }), model.embed(["x"], { signal })];
      controller.abort(reason);
      for (const one of waiting) await expect(one).rejects.toBe(reason);
      expect(b.messages).toEqual([]);
      await stream.return();
    });

    test("max limits how many requests may wait; 0 refuses waiting", async () => {
      await using small = await loadModel(tiny, { runtime, contextLength: 64, queue: { max: 1 } });
      const stream = small.createSession().generate({ ids: once }, greedy);
      await stream.next();
      const waiting = small.logits(once);
      const refused = await small.logits(once).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(BusyError);
      expect(refused).toMatchObject({ running: 1, waiting: 1, maxWaiting: 1 });
      await stream.return();
      expect(await waiting).toHaveLength(5 * 4096);
      await using strict = await loadModel(tiny, { runtime, contextLength: 64, queue: { max: 0 } });
      const session = strict.createSession();
      const logits = strict.logits(once);
      const turn = session.complete({ ids: once }, { ...greedy, maxTokens: 4 });
      const other = session.complete("x");
      const refusals = await Promise.allSettled([turn, other]);
      expect(refusals.map((one) => one.status === "rejected" && String(one.reason))).toEqual([
        expect.stringMatching(/model: expected at most 0 requests in the queue/),
        expect.stringMatching(/session: expected at most 0 turns in the queue/),
      ]);
      expect(await logits).toHaveLength(5 * 4096);
      expect((await session.complete({ ids: once }, { ...greedy, maxTokens: 4 })).ids).toHaveLength(4);
      await expect(loadModel(tiny, { runtime, queue: { max: -1 } })).rejects.toThrow(/queue.max: expected a whole number from 0, got -1/);
      await expect(loadModel(tiny, { runtime, queue: { size: 1 } as object })).rejects.toThrow(/options among \{max\}/);
    });

    test.each([0, 8])(
      "a stream that nobody reads blocks nobody, and goes on as if nothing had happened (promptLookup %i)",
      async (promptLookup) => {
        await using small = await loadModel(tiny, { runtime, contextLength: 96, sequences: 1 });
        const alone = await small.createSession().complete({ ids: once }, { ...greedy, maxTokens: 60, promptLookup });
        const stream = small.createSession().generate({ ids: once }, { ...greedy, maxTokens: 60, promptLookup });
        const ids: number[] = [];
        let finish: GenerationFinish | undefined;
        const read = async (parts: number): Promise<void> => {
          for (let i = 0; i < parts; i++) {
            const { value } = await stream.next();
            if (value?.type === "text") ids.push(...value.ids);
            if (value?.type === "finish") finish = value;
          }
        };
        await read(12);
        // Fills the cache, so that the stream's part of it is lost.
        await small.logits(Array.from({ length: 96 }, (_, i) => 300 + i));
        await read(30);
        await small.logits(once);
        while (finish === undefined) await read(1);
        expect(ids).toEqual(alone.ids);
        expect(finish.ids).toEqual(alone.ids);
      },
    );

    test("a loop may request a turn of another session", async () => {
      const [a, b] = [model.createSession(), model.createSession()];
      const texts: string[] = [];
      for await (const part of a.generate({ ids: once }, { ...greedy, maxTokens: 3 })) {
        if (part.type === "text" && texts.length === 0) texts.push((await b.complete({ ids: once }, { ...greedy, maxTokens: 3 })).text);
        if (part.type === "finish") texts.push(part.text);
      }
      expect(texts[0]).toBe(texts[1]);
    });

    test("turns of one session run one after the other", async () => {
      const session = model.createSession();
      const options = { ...greedy, maxTokens: 8 };
      const turns = await Promise.all([session.complete(question, options), session.complete("And then?", options)]);
      expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      expect(turns.map(({ text }) => text)).toEqual([1, 3].map((i) => session.messages[i]!.content));
      const saved = session.save();
      expect(() => session.truncate(0)).toThrow(BusyError);
      expect((await model.restoreSession(await saved)).messages).toEqual(session.messages);
    });

    test("no call waits for a stream of its own session, which only the reader can end", async () => {
      const session = model.createSession();
      const stream = session.generate({ ids: once }, greedy);
      await stream.next();
      for (const call of [() => session.complete("x"), () => session.generate("x").next(), () => session.save()])
        await expect(call()).rejects.toThrow(
          /expected no stream of generate\(\) to be open, got one; read it to its end or leave its loop/,
        );
      for (const call of [() => session.reset(), () => session.truncate(0), () => session.dispose()]) expect(call).toThrow(BusyError);
      await stream.return();
      expect((await session.complete({ ids: once }, { ...greedy, maxTokens: 8 })).ids).toEqual(await fresh(once, 8));
      session.dispose();
    });

    test("a turn that waits for another turn of its session leaves the queue when it is aborted", async () => {
      const session = model.createSession();
      const first = session.complete(question, { ...greedy, maxTokens: 8 });
      const controller = new AbortController();
      const second = session.complete("And then?", { signal: controller.signal, onAbort: "keep" });
      controller.abort("enough");
      await expect(second).rejects.toBe("enough");
      await first;
      expect(session.messages).toHaveLength(2);
    });

    test("ends with the model", async () => {
      const gone = await loadModel(tiny, { runtime, contextLength: 64 });
      const stream = gone.createSession().generate({ ids: once }, greedy);
      await stream.next();
      const waiting = Promise.allSettled([gone.logits(once), gone.embed(["x"]), gone.createSession().complete("x")]);
      await gone.dispose();
      for (const one of await waiting) expect(one).toMatchObject({ status: "rejected", reason: expect.any(DisposedError) });
      await expect(stream.next()).rejects.toBeInstanceOf(DisposedError);
    });
  });

  describe("aborts", () => {
    /** Generates until there are so many parts of text, then aborts or leaves the loop. */
    async function interrupted(
      session: Session,
      { after, leave = false, onAbort }: { readonly after: number; readonly leave?: boolean; readonly onAbort?: "discard" | "keep" },
      prompt: string | readonly ChatMessage[] = question,
    ): Promise<{ readonly finish: GenerationPart | undefined; readonly text: string }> {
      const controller = new AbortController();
      let [seen, text] = [0, ""];
      let finish: GenerationPart | undefined;
      if (after === 0) controller.abort(new Error("enough"));
      for await (const part of session.generate(prompt, { ...greedy, signal: controller.signal, ...(onAbort && { onAbort }) })) {
        finish = part;
        if (part.type !== "text") continue;
        text += part.text;
        if (++seen !== after) continue;
        if (leave) break;
        controller.abort(new Error("enough"));
      }
      return { finish, text };
    }

    test("an abort rejects with its reason and leaves the session as before the turn", async () => {
      using session = model.createSession();
      await session.complete(question, { ...greedy, maxTokens: 8 });
      const { messages } = session;
      const reason = new Error("the user left");
      for (const after of [0, 1, 5]) {
        const controller = new AbortController();
        const run = async (): Promise<void> => {
          let seen = 0;
          if (after === 0) setTimeout(() => controller.abort(reason), 1);
          for await (const part of session.generate("And then what happened next, tell me?", { ...greedy, signal: controller.signal })) {
            if (part.type === "text" && ++seen === after) controller.abort(reason);
          }
        };
        await expect(run()).rejects.toBe(reason);
        expect(session.messages).toEqual(messages);
      }
      using other = model.createSession({ messages });
      const options = { ...greedy, maxTokens: 8 };
      expect((await session.complete("And?", options)).ids).toEqual((await other.complete("And?", options)).ids);
    });

    test("leaving the loop early leaves the session as before the turn", async () => {
      using session = model.createSession();
      for await (const part of session.generate(question, greedy)) if (part.type === "text" && part.text.includes("a")) break;
      expect(session.messages).toEqual([]);
      const { ids } = await session.complete({ ids: once }, { ...greedy, maxTokens: 8 });
      expect(ids).toEqual(await fresh(once, 8));
    });

    test("keep: the answer so far stays, and the text ends with a finish", async () => {
      using session = model.createSession();
      const { finish, text } = await interrupted(session, { after: 6, onAbort: "keep" });
      expect(finish).toMatchObject({ type: "finish", reason: "aborted", text });
      if (finish?.type !== "finish") throw new Error("the last part is no finish");
      expect(finish.usage.completionTokens).toBe(finish.ids.length);
      expect(finish.usage.promptTokens).toBe(finish.promptIds.length);
      for (const time of [finish.timings.promptMs, finish.timings.decodeMs, finish.timings.timeToFirstTokenMs])
        expect(time).toBeGreaterThan(0);
      expect(session.messages).toEqual([...question, { role: "assistant", content: text }]);
      using other = model.createSession({ messages: session.messages });
      const next = await session.complete("And then?", { ...greedy, maxTokens: 8 });
      expect(next.usage.cachedTokens).toBeGreaterThan(finish.promptIds.length);
      expect(next.ids).toEqual((await other.complete("And then?", { ...greedy, maxTokens: 8 })).ids);
    });

    test("keep: complete resolves, and an abort after the end changes nothing", async () => {
      using session = model.createSession();
      const signal = AbortSignal.timeout(5);
      const finish = await session.complete(question, { ...greedy, signal, onAbort: "keep" });
      expect(["aborted", "length", "eos"]).toContain(finish.reason);
      const controller = new AbortController();
      const whole = await session.complete("And then?", { ...greedy, maxTokens: 3, signal: controller.signal, onAbort: "keep" });
      controller.abort();
      expect(whole.reason).toBe("length");
      expect(session.messages.at(-1)).toEqual({ role: "assistant", content: whole.text });
    });

    test("keep: leaving the loop keeps the parts that were read", async () => {
      using session = model.createSession();
      const { text } = await interrupted(session, { after: 4, leave: true, onAbort: "keep" });
      expect(session.messages).toEqual([...question, { role: "assistant", content: text }]);
    });

    test("keep: without an answer the user's message stays, and the next one is added to it", async () => {
      using session = model.createSession();
      const { finish } = await interrupted(session, { after: 0, onAbort: "keep" });
      expect(finish).toMatchObject({ reason: "aborted", text: "", ids: [], usage: { completionTokens: 0 } });
      expect(session.messages).toEqual(question);
      const { text } = await session.complete("And a crow.", { ...greedy, maxTokens: 4 });
      const joined = { role: "user", content: "Tell me a story about a fox.\n\nAnd a crow." };
      expect(session.messages).toEqual([joined, { role: "assistant", content: text }]);
    });

    test("keep: also while the turn waits in the queue, and for a prompt that is not a chat", async () => {
      const stream = model.createSession().generate({ ids: once }, greedy);
      await stream.next();
      const session = model.createSession();
      const controller = new AbortController();
      const options = { signal: controller.signal, onAbort: "keep" } as const;
      const waiting = session.complete(question, options);
      const other = model.createSession().complete({ ids: once }, options);
      // Until both are in the queue.
      await new Promise((resolve) => setTimeout(resolve, 1));
      controller.abort();
      expect(await waiting).toMatchObject({ reason: "aborted", text: "" });
      expect(await other).toMatchObject({ reason: "aborted", promptIds: once });
      expect(session.messages).toEqual(question);
      await stream.return();
    });

    test("other errors are not aborts", async () => {
      using session = model.createSession();
      const options = { onAbort: "keep", signal: AbortSignal.abort() } as const;
      await expect(session.complete({ ids: Array.from({ length: 300 }, () => 5) }, options)).rejects.toMatchObject({
        code: "contextOverflow",
      });
      expect(() => session.generate("x", { onAbort: "save" as never })).toThrow(/onAbort to be "discard" or "keep"/);
    });
  });
}
