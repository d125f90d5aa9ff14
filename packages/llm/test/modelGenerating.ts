import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChatMessage, ContextOverflowError, type GapFile, type GenerationPart, loadModel, type Model } from "../src/index.ts";
import { tiny, withMetadata } from "./modelFiles.ts";
import type { SuiteContext } from "./suiteContext.ts";

const greedy = { temperature: 0 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];

/** Options of a generation that change how it is computed or reported. */
export function describeGenerating({ runtime, isExact }: SuiteContext): void {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(tiny, { runtime, contextLength: 256, batchSize: 64 });
  });
  afterAll(() => model.dispose());
  const submits = (): number => runtime.backends.find(({ name }) => name === model.info.backend)!.counters.submits;

  describe("prompt lookup", () => {
    // Greedy text of the small model soon repeats itself, so that drafts are accepted.
    test.each([
      ["greedy", { ...greedy, maxTokens: 90 }],
      ["sampled", { temperature: 0.5, topK: 3, seed: 11, maxTokens: 60, repeatPenalty: 0.7 }],
      ["Mirostat", { temperature: 0.3, mirostat: 2, mirostatTau: 1, seed: 3, maxTokens: 80 }],
    ] as const)("gives the same tokens in fewer runs: %s", async (_title, options) => {
      using session = model.createSession();
      const before = submits();
      const plain = await session.complete({ ids: once }, { ...options, logprobs: 1 });
      const between = submits();
      const drafted = await session.complete({ ids: once }, { ...options, logprobs: 1, promptLookup: 8 });
      const after = submits();
      expect(drafted.ids).toEqual(plain.ids);
      expect(drafted.text).toBe(plain.text);
      if (isExact) expect(drafted.logprobs).toEqual(plain.logprobs);
      expect(drafted.usage.acceptedTokens).toBeGreaterThan(1);
      expect(drafted.usage.draftedTokens).toBeGreaterThanOrEqual(drafted.usage.acceptedTokens);
      // The last token may have come true without a run to save.
      expect(after - between).toBeLessThanOrEqual(between - before - drafted.usage.acceptedTokens + 1);
      expect(plain.usage).toMatchObject({ draftedTokens: 0, acceptedTokens: 0 });
    });

    test("stops where it should and leaves a usable cache", async () => {
      using session = model.createSession();
      const whole = await session.complete({ ids: once }, { ...greedy, maxTokens: 90 });
      for (const maxTokens of [50, 57, 64]) {
        const { ids } = await session.complete({ ids: once }, { ...greedy, maxTokens, promptLookup: 8 });
        expect(ids).toEqual(whole.ids.slice(0, maxTokens));
        const next = await session.complete({ ids: [...once, ...ids] }, { ...greedy, maxTokens: 5, promptLookup: 8 });
        expect(next.ids).toEqual(whole.ids.slice(maxTokens, maxTokens + 5));
        expect(next.usage.cachedTokens).toBeGreaterThanOrEqual(once.length + maxTokens - 1);
      }
    });
  });

  describe("overflow", () => {
    let small: Model;
    beforeAll(async () => {
      small = await loadModel(tiny, { runtime, contextLength: 96 });
    });
    afterAll(() => small.dispose());

    test("the oldest turns are dropped until there is room", async () => {
      const messages: ChatMessage[] = Array.from({ length: 9 }, (_, i) =>
        i % 2 === 0
          ? { role: "user", content: `Tell me more about the fox, part ${i}.` }
          : { role: "assistant", content: "The fox ran into the wood, and was glad." },
      );
      using session = small.createSession({ messages: messages.slice(0, -1) });
      await expect(session.complete(messages.slice(-1), greedy)).rejects.toThrow(ContextOverflowError);
      const finish = await session.complete(messages.slice(-1), { ...greedy, maxTokens: 8, overflow: { prompt: "dropTurns" } });
      const { droppedMessages, truncatedTokens, promptTokens } = finish.usage;
      expect(droppedMessages).toBeGreaterThan(0);
      expect(finish.promptIds).toEqual([...small.chatTemplate.encode(small.tokenizer, messages.slice(droppedMessages))]);
      expect(promptTokens + truncatedTokens).toBe(small.chatTemplate.encode(small.tokenizer, messages).length);
      expect(promptTokens).toBeLessThanOrEqual(96 - 8);
      // The session remembers all of it.
      expect(session.messages).toHaveLength(10);
      const endless = [{ role: "user", content: "fox ".repeat(200) }];
      await expect(small.createSession().complete(endless, { overflow: { prompt: "dropTurns" } })).rejects.toThrow(/at most 95 tokens/);
    });

    test("the middle of a prompt is dropped", async () => {
      const ids = Array.from({ length: 300 }, (_, i) => 300 + i);
      const finish = await small
        .createSession()
        .complete({ ids }, { ...greedy, maxTokens: 4, overflow: { prompt: "truncateMiddle", keep: 10 } });
      expect(finish.promptIds).toEqual([...ids.slice(0, 10), ...ids.slice(-82)]);
      expect(finish.usage).toMatchObject({ promptTokens: 92, truncatedTokens: 208, droppedMessages: 0 });
    });

    test("a full context is shifted, and the text continues as from the remaining tokens", async () => {
      using session = small.createSession();
      const full = await session.complete({ ids: once }, greedy);
      expect(full).toMatchObject({ reason: "length", limit: "context" });
      expect(full.ids).toHaveLength(91);
      for (const promptLookup of [0, 6]) {
        const shifted = await session.complete(
          { ids: once },
          { ...greedy, maxTokens: 130, promptLookup, overflow: { generation: "shift", keep: 40 } },
        );
        expect(shifted).toMatchObject({ reason: "length", limit: "maxTokens" });
        expect(shifted.ids.slice(0, 91)).toEqual(full.ids);
        expect(shifted.usage.truncatedTokens).toBe(28 + 28);
        const text = [...once, ...full.ids];
        const left = [...text.slice(0, 40), ...text.slice(95 - 27)];
        const rest = await small.createSession().complete({ ids: left }, { ...greedy, maxTokens: 20 });
        expect(shifted.ids.slice(91, 111)).toEqual(rest.ids);
      }
    });

    test("a full context can be an error", async () => {
      const run = small.createSession().complete({ ids: once }, { ...greedy, overflow: { generation: "error" } });
      await expect(run).rejects.toThrow(ContextOverflowError);
      await expect(run).rejects.toThrow(/got 5 and 91 generated ones/);
    });
  });

  test("a gap is encoded with the file's own markup", async () => {
    const key = (name: string, value: number) => ({ key: `tokenizer.ggml.${name}_token_id`, type: "u32", value }) as const;
    const source = await withMetadata(tiny, [key("fim_pre", 2), key("fim_suf", 3), key("fim_mid", 4), key("eos", 1)]);
    await using filling = await loadModel(source, { runtime, contextLength: 64 });
    const ids = (text: string) => [...filling.tokenizer.encode(text, { addSpecial: false })];
    const finish = await filling.createSession().complete({ prefix: "Once <|user|>", suffix: " a time" }, { ...greedy, maxTokens: 3 });
    expect(finish.promptIds).toEqual([0, 2, ...ids("Once <|user|>"), 3, ...ids(" a time"), 4]);
    // Markup in the text is text.
    expect(finish.promptIds.filter((id) => id === 2)).toHaveLength(1);
    // Files are plain text for a vocabulary without tokens for them.
    const gap = { prefix: "Once", suffix: " a time", files: [{ name: "fox.txt", text: "A fox." }] };
    const { promptIds } = await filling.createSession().complete(gap, { ...greedy, maxTokens: 1 });
    expect(promptIds).toEqual([0, ...ids("\n\n--- fox.txt ---\n\nA fox."), 2, ...ids("Once"), 3, ...ids(" a time"), 4]);
    for (const files of [5, [5], [{ name: "a" }], [{ name: "a", text: "b", size: 1 }]] as never[])
      await expect(filling.createSession().complete({ ...gap, files })).rejects.toThrow(/^prompt\.files/);
  });

  test("files precede a gap, each after the vocabulary's token", async () => {
    const key = (name: string, value: number) => ({ key: `tokenizer.ggml.${name}_token_id`, type: "u32", value }) as const;
    const fim = [key("fim_pre", 2), key("fim_suf", 3), key("fim_mid", 4), key("fim_rep", 5), key("fim_sep", 6), key("eos", 1)];
    await using filling = await loadModel(await withMetadata(tiny, fim), { runtime, contextLength: 64 });
    const ids = (text: string) => [...filling.tokenizer.encode(text, { addSpecial: false })];
    const promptOf = async (files: readonly GapFile[]) =>
      (await filling.createSession().complete({ prefix: "Once", suffix: " a time", files }, { ...greedy, maxTokens: 1 })).promptIds;
    const gap = [6, ...ids("filename\n"), 2, ...ids("Once"), 3, ...ids(" a time"), 4];
    expect(await promptOf([])).toEqual([0, 5, ...ids("myproject\n"), ...gap]);
    const files = [
      { name: "fox.txt", text: "A fox." },
      { name: "owl.txt", text: "An owl." },
    ];
    const told = [6, ...ids("fox.txt\n"), ...ids("A fox."), 6, ...ids("owl.txt\n"), ...ids("An owl.")];
    expect(await promptOf(files)).toEqual([0, 5, ...ids("myproject\n"), ...told, ...gap]);
  });

  test("the prompt's progress is reported in parts", async () => {
    const ids = Array.from({ length: 150 }, (_, i) => 300 + i);
    using session = model.createSession();
    const parts: GenerationPart[] = [];
    for await (const part of session.generate({ ids }, { ...greedy, maxTokens: 2, progress: true })) parts.push(part);
    const told = parts.flatMap((part) => (part.type === "prefill" ? [part] : []));
    expect(told).toEqual([0, 64, 128, 150].map((done) => ({ type: "prefill", done, total: 150 })));
    expect(parts.slice(0, 4)).toEqual(told);
    const again: GenerationPart[] = [];
    for await (const part of session.generate({ ids: [...ids, 5] }, { ...greedy, maxTokens: 1, progress: true })) again.push(part);
    expect(again.slice(0, 2)).toEqual([150, 151].map((done) => ({ type: "prefill", done, total: 151 })));
  });

  test("reasoning is separated from the answer and kept where templates look for it", async () => {
    using session = model.createSession();
    const question: ChatMessage[] = [{ role: "user", content: "Tell me a story about a fox." }];
    const whole = await session.complete(question, { ...greedy, maxTokens: 60 });
    const comma = whole.text.indexOf(",");
    const tags = { open: whole.text.slice(0, 4), close: "," };
    session.reset();
    const parts: GenerationPart[] = [];
    for await (const part of session.generate(question, { ...greedy, maxTokens: 60, reasoning: tags })) parts.push(part);
    const finish = parts.at(-1);
    if (finish?.type !== "finish") throw new Error("the last part is no finish");
    expect(finish.ids).toEqual(whole.ids);
    expect(finish.reasoning).toBe(whole.text.slice(4, comma).trim());
    expect(finish.text).toBe(whole.text.slice(comma + 1).trimStart());
    const textOf = (type: string): string => parts.map((part) => (part.type === type && "text" in part ? part.text : "")).join("");
    expect(textOf("reasoning")).toBe(finish.reasoning);
    expect(textOf("text")).toBe(finish.text);
    expect(parts.flatMap((part) => ("ids" in part && part.type !== "finish" ? part.ids : []))).toEqual(finish.ids);
    expect(session.messages.at(-1)).toEqual({ role: "assistant", content: finish.text, reasoning_content: finish.reasoning });
    // Where the prompt ends with the tag, the text begins inside.
    const raw = await session.complete("Once upon a time", {
      ...greedy,
      maxTokens: 40,
      raw: true,
      reasoning: { open: "time", close: "," },
    });
    expect(raw.reasoning).not.toBe("");
    expect(`${raw.reasoning},${raw.text}`.replaceAll(" ", "")).toBe(
      (await session.complete("Once upon a time", { ...greedy, maxTokens: 40, raw: true })).text.replaceAll(" ", ""),
    );
    expect(whole).not.toHaveProperty("reasoning");
  });

  test.each([
    [{ overflow: { prompt: "cut" } }, /generate.overflow: expected prompt to be "error" or "dropTurns" or "truncateMiddle", got "cut"/],
    [{ overflow: { keeps: 1 } }, /options among .*keep.*got keeps;/],
    [{ promptLookup: -1 }, /promptLookup to be a whole number from 0, got -1/],
    [{ progress: 1 }, /progress to be true or false, got 1/],
    [{ reasoning: { open: "" } }, /reasoning: expected "auto", "harmony", false or/],
    [{ reasoning: true }, /reasoning: expected "auto", "harmony", false or/],
  ])("%j is refused at the call", (options, message) => {
    using session = model.createSession();
    expect(() => session.generate("x", options as object)).toThrow(message);
  });
}
