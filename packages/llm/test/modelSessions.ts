import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ChatMessage,
  type ChosenLogprob,
  ContextOverflowError,
  candidatesOf,
  type GenerationFinish,
  type GenerationPart,
  loadModel,
  type Model,
  probabilities,
} from "../src/index.ts";
import { patched, tiny, u32Entry } from "./modelFiles.ts";
import type { SuiteContext } from "./suiteContext.ts";

const greedy = { temperature: 0 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];
const question: readonly ChatMessage[] = [{ role: "user", content: "Tell me a story about a fox." }];

export function describeSessions({ runtime, isExact }: SuiteContext): void {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(tiny, { runtime, contextLength: 256, sequences: 2 });
  });
  afterAll(() => model.dispose());
  const fresh = async (ids: readonly number[], maxTokens: number): Promise<readonly number[]> => {
    using session = model.createSession();
    return (await session.complete({ ids }, { ...greedy, maxTokens })).ids;
  };

  describe("sessions", () => {
    test("the parts add up to the finish, and to the tokenizer's text", async () => {
      using session = model.createSession();
      const parts: GenerationPart[] = [];
      for await (const part of session.generate("Once upon a time", { ...greedy, raw: true, maxTokens: 40 })) parts.push(part);
      const finish = parts.at(-1);
      if (finish?.type !== "finish") throw new Error("the last part is no finish");
      const texts = parts.flatMap((part) => (part.type === "text" ? [part] : []));
      expect(finish).toMatchObject({ reason: "length", limit: "maxTokens", promptIds: once });
      expect(finish.usage).toMatchObject({
        promptTokens: 5,
        cachedTokens: 0,
        completionTokens: 40,
        truncatedTokens: 0,
        droppedMessages: 0,
      });
      expect(texts.map(({ text }) => text).join("")).toBe(finish.text);
      expect(texts.flatMap(({ ids }) => ids)).toEqual(finish.ids);
      expect(model.tokenizer.decode(finish.ids)).toBe(finish.text);
      expect(texts.length).toBeGreaterThan(30);
      for (const time of Object.values(finish.timings)) expect(time).toBeGreaterThan(0);
    });

    test("a text ends before a stop string that spans tokens", async () => {
      using session = model.createSession();
      const whole = await session.complete({ ids: once }, { ...greedy, maxTokens: 40 });
      const stop = whole.text.slice(30, 45);
      const finish = await session.complete({ ids: once }, { ...greedy, maxTokens: 40, stop: ["never in it", stop] });
      expect(finish).toMatchObject({ reason: "stop", stop, text: whole.text.slice(0, whole.text.indexOf(stop)) });
      expect(finish.ids.length).toBeLessThan(40);
    });

    test("a token that ends the text is counted but not shown", async () => {
      const comma = model.tokenizer.encode(",", { addSpecial: false })[0]!;
      const key = "tokenizer.ggml.eos_token_id";
      await using other = await loadModel(patched(tiny, [u32Entry(key, 4), u32Entry(key, comma)]), { runtime, contextLength: 256 });
      const whole = await model.createSession().complete({ ids: once }, { ...greedy, maxTokens: 40 });
      const finish = await other.createSession().complete({ ids: once }, { ...greedy, maxTokens: 40 });
      expect(finish).toMatchObject({ reason: "eos", ids: whole.ids.slice(0, whole.ids.indexOf(comma) + 1) });
      expect(finish.text).toBe(whole.text.slice(0, whole.text.indexOf(",")));
    });

    test("a seed repeats a generation, another seed does not, and a random seed is reported", async () => {
      using session = model.createSession();
      const sample = async (seed?: number) =>
        session.complete({ ids: once }, { temperature: 1, topK: 0, topP: 1, minP: 0, maxTokens: 24, ...(seed !== undefined && { seed }) });
      const [first, again, other, drawn] = [await sample(7), await sample(7), await sample(8), await sample()];
      expect(again.ids).toEqual(first.ids);
      expect(other.ids).not.toEqual(first.ids);
      expect((await sample(drawn.seed)).ids).toEqual(drawn.ids);
    });

    test("sampling options reach the sampler", async () => {
      using session = model.createSession();
      const top = await session.complete({ ids: once }, { temperature: 5, topK: 1, maxTokens: 16, seed: 1 });
      expect(top.ids).toEqual(await fresh(once, 16));
      const looping = await session.complete({ ids: once }, { ...greedy, maxTokens: 90 });
      const penalised = await session.complete({ ids: once }, { ...greedy, maxTokens: 90, repeatPenalty: 1.5, repeatLastN: -1 });
      expect(new Set(penalised.ids).size).toBeGreaterThan(new Set(looping.ids).size);
    });

    test("DRY ends loops, with breakers as texts", async () => {
      using session = model.createSession();
      const looping = await session.complete({ ids: once }, { ...greedy, maxTokens: 90 });
      const dry = await session.complete({ ids: once }, { ...greedy, maxTokens: 90, dryMultiplier: 2, dryBreakers: ["\n"] });
      expect(new Set(dry.ids).size).toBeGreaterThan(new Set(looping.ids).size);
      // Where every token with an "e" is a breaker, next to nothing counts as a repetition.
      const broken = await session.complete(
        { ids: once },
        { ...greedy, maxTokens: 90, dryMultiplier: 2, dryBreakers: ["e", "a", " ", "o"] },
      );
      expect(broken.ids).toEqual(looping.ids);
    });

    test("log probabilities belong to the ids of each part", async () => {
      using session = model.createSession();
      const ids: number[] = [];
      const told: ChosenLogprob[] = [];
      let finish: GenerationFinish | undefined;
      for await (const part of session.generate({ ids: once }, { temperature: 1, seed: 4, maxTokens: 12, logprobs: 2 })) {
        if (part.type === "finish") finish = part;
        else if (part.type === "text") {
          ids.push(...part.ids);
          told.push(...part.logprobs!);
        }
      }
      expect(told.map(({ id }) => id)).toEqual(ids);
      expect(finish!.logprobs!.map(({ id }) => id)).toEqual(finish!.ids);
      const { vocabSize } = model.info;
      const logits = await model.logits([...once, ...finish!.ids.slice(0, -1)]);
      for (const [i, { id, logprob, top }] of finish!.logprobs!.entries()) {
        const row = logits.slice((once.length - 1 + i) * vocabSize, (once.length + i) * vocabSize);
        const p = probabilities(candidatesOf(row));
        expect(Math.exp(logprob)).toBeCloseTo(p[id]!, 4);
        expect(top).toHaveLength(2);
        expect(Math.exp(top[0]!.logprob)).toBeCloseTo(Math.max(...p), 4);
      }
      expect(await session.complete({ ids: once }, { ...greedy, maxTokens: 2 })).not.toHaveProperty("logprobs");
    });

    test("cached tokens are not computed again and do not change the text", async () => {
      using session = model.createSession();
      const first = await session.complete({ ids: once }, { ...greedy, maxTokens: 20 });
      const again = await session.complete({ ids: once }, { ...greedy, maxTokens: 20 });
      expect(again.usage.cachedTokens).toBe(once.length - 1);
      expect(again.ids).toEqual(first.ids);
      const longer = [...once, ...first.ids.slice(0, 12), 700, 701];
      const third = await session.complete({ ids: longer }, { ...greedy, maxTokens: 20 });
      expect(third.usage.cachedTokens).toBe(once.length + 12);
      expect(third.ids).toEqual(await fresh(longer, 20));
    });

    test("a chat keeps its turns and continues from its cache", async () => {
      using session = model.createSession();
      const first = await session.complete(question, { ...greedy, maxTokens: 12 });
      expect(session.messages).toEqual([...question, { role: "assistant", content: first.text }]);
      const second = await session.complete("And then?", { ...greedy, maxTokens: 12 });
      expect(session.messages).toHaveLength(4);
      expect(second.usage.cachedTokens).toBeGreaterThan(first.usage.promptTokens);
      using other = model.createSession({ messages: session.messages.slice(0, 2) });
      expect((await other.complete("And then?", { ...greedy, maxTokens: 12 })).ids).toEqual(second.ids);
      session.reset();
      expect(session.messages).toEqual([]);
    });

    test("a fork continues from the same cache, and neither session affects the other", async () => {
      using session = model.createSession();
      const long = { role: "user", content: "Tell me a story about a fox and a crow that wanted to see the end of the world. ".repeat(3) };
      const first = await session.complete([long], { ...greedy, maxTokens: 12 });
      using fork = session.fork();
      expect(fork.messages).toEqual(session.messages);
      const ofFork = await fork.complete("And the crow?", { ...greedy, maxTokens: 12 });
      expect(ofFork.usage.cachedTokens).toBeGreaterThan(first.usage.promptTokens - 32);
      expect(fork.messages).toHaveLength(4);
      expect(session.messages).toHaveLength(2);
      const again = await session.complete("And the crow?", { ...greedy, maxTokens: 12 });
      expect(again.usage.cachedTokens).toBeGreaterThanOrEqual(ofFork.usage.cachedTokens);
      expect(again.ids).toEqual(ofFork.ids);
      expect(ofFork.ids).toEqual(await fresh(ofFork.promptIds, 12));
    });

    test("a session goes back to earlier messages", async () => {
      using session = model.createSession();
      await session.complete(question, { ...greedy, maxTokens: 8 });
      const second = await session.complete("And then?", { ...greedy, maxTokens: 8 });
      session.truncate(2);
      expect(session.messages).toHaveLength(2);
      const again = await session.complete("And then?", { ...greedy, maxTokens: 8 });
      expect(again.ids).toEqual(second.ids);
      expect(again.usage.cachedTokens).toBe(second.usage.promptTokens - 1);
      expect(() => session.truncate(5)).toThrow(/truncate: expected a whole number from 0 to 4, got 5/);
    });

    test("sessions that generate at the same time share runs and get the same text as alone", async () => {
      await using shared = await loadModel(tiny, { runtime, contextLength: 128, sequences: 8, batchSize: 48 });
      const prompts = Array.from({ length: 8 }, (_, i) => [0, 2817, 632 + i, ...Array.from({ length: i * 7 }, (__, j) => 300 + i * j)]);
      const options = (i: number) => ({ temperature: i % 2, seed: i, maxTokens: 6 + 4 * i, logprobs: 3 });
      const run = (i: number) => shared.createSession().complete({ ids: prompts[i]! }, options(i));
      const alone: GenerationFinish[] = [];
      for (const i of prompts.keys()) alone.push(await run(i));
      const backend = runtime.backends.find(({ name }) => name === shared.info.backend)!;
      const before = backend.counters.submits;
      const together = await Promise.all([...prompts.keys()].map(run));
      const submits = backend.counters.submits - before;
      for (const [i, { ids, logprobs }] of together.entries()) {
        expect(ids).toEqual(alone[i]!.ids);
        if (isExact) expect(logprobs).toEqual(alone[i]!.logprobs);
      }
      // The longest takes 34 tokens; the prompts add some runs of 48 tokens.
      expect(submits).toBeLessThan(60);
    });

    test("leaving or aborting one generation does not affect the remaining ones", async () => {
      await using shared = await loadModel(tiny, { runtime, contextLength: 128, sequences: 3 });
      const prompts = [once, [0, 343, 544], [0, 700]];
      const controller = new AbortController();
      const [kept, left, aborted] = await Promise.allSettled(
        prompts.map(async (ids, i) => {
          const produced: number[] = [];
          for await (const part of shared
            .createSession()
            .generate({ ids }, { ...greedy, maxTokens: 30, ...(i === 2 && { signal: controller.signal }) })) {
            if (part.type !== "text") break;
            produced.push(...part.ids);
            if (i === 1 && produced.length > 4) break;
            if (i === 2 && produced.length > 8) controller.abort(new Error("enough"));
          }
          return produced;
        }),
      );
      expect(kept).toEqual({ status: "fulfilled", value: await fresh(once, 30) });
      expect(left).toMatchObject({ status: "fulfilled" });
      expect(aborted).toMatchObject({ status: "rejected", reason: new Error("enough") });
      expect((await shared.createSession().complete({ ids: once }, { ...greedy, maxTokens: 8 })).ids).toEqual(await fresh(once, 8));
    });

    test("a full context is reported, and a prompt without room is refused before anything is computed", async () => {
      await using small = await loadModel(tiny, { runtime, contextLength: 32 });
      using session = small.createSession();
      const finish = await session.complete({ ids: once }, greedy);
      expect(finish).toMatchObject({ reason: "length", limit: "context" });
      expect(finish.ids).toEqual(await fresh(once, 27));
      const full = Array.from({ length: 32 }, () => 100);
      const error = await session.complete({ ids: full }, greedy).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(ContextOverflowError);
      expect(error).toMatchObject({ promptTokens: 32, contextLength: 32, code: "contextOverflow" });
      expect((await session.complete({ ids: full.slice(1) }, greedy)).ids).toHaveLength(1);
      await expect(small.logits([...full, 1])).rejects.toThrow(ContextOverflowError);
      expect(await small.logits(full)).toHaveLength(32 * 4096);
    });

    test.each([
      [{ maxToken: 3 }, /options among .*maxTokens.*got maxToken;/],
      [{ maxTokens: 0 }, /maxTokens to be a whole number from 1, got 0/],
      [{ topP: 2 }, /topP: expected a number in 0 … 1, got 2/],
      [{ stop: "x" }, /stop to be a list of strings/],
      [{ raw: 1 }, /raw to be true or false/],
      [{ chat: { tool: [] } }, /options among .*tools.*got tool;/],
    ])("%j is refused at the call", (options, message) => {
      using session = model.createSession();
      expect(() => session.generate("x", options as object)).toThrow(message);
    });

    test.each([
      [{ ids: [] }, /at least one token/],
      [{ ids: [1, 4096] }, /ids from 0 to 4095, got 4096 at 1/],
      [{ ids: [0.5] }, /got 0.5 at 0/],
      [7, /a string, messages, \{ prefix, suffix \} or \{ ids \}, got 7/],
      [{ prefix: "x" }, /\{ prefix, suffix \} or \{ ids \}, got \{ prefix: "x" \}/],
      [{ prefix: "x", suffix: "y" }, /this model was not trained to fill gaps/],
      [[], /at least one message/],
    ])("prompt %j is refused", async (prompt, message) => {
      using session = model.createSession();
      await expect(session.complete(prompt as never, greedy)).rejects.toThrow(message);
    });

    test("a disposed model refuses calls", async () => {
      const gone = await loadModel(tiny, { runtime, contextLength: 16 });
      const session = gone.createSession();
      await gone.dispose();
      await gone.dispose();
      await expect(gone.logits(once)).rejects.toThrow(/used after dispose/);
      await expect(session.complete({ ids: once }, greedy)).rejects.toThrow(/used after dispose/);
    });
  });
}
