import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ContextOverflowError, loadModel, type Model } from "../src/index.ts";
import { describeShared, shared } from "./shared.ts";

const greedy = { temperature: 0, repeatPenalty: 1 };

describeShared("prompts", () => {
  let runtime: Runtime;
  let model: Model;

  beforeAll(async () => {
    runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
    model = await loadModel(shared("models", "fable-tiny-q8_0.gguf"), { runtime, contextLength: 128 });
  });

  afterAll(async () => {
    await model.dispose();
    await runtime.dispose();
  });

  const markup = (ids: readonly number[]): string[] =>
    ids.filter((id) => model.tokenizer.isSpecial(id)).map((id) => model.tokenizer.tokenText(id));

  test("a final assistant message is continued and remembered as one message", async () => {
    using session = model.createSession();
    const whole = await session.complete("A story about a cat", { ...greedy, maxTokens: 24 });
    using other = model.createSession();
    const begun = model.tokenizer.decode(whole.ids.slice(0, 8));
    const finish = await other.complete(
      [
        { role: "user", content: "A story about a cat" },
        { role: "assistant", content: begun },
      ],
      { ...greedy, maxTokens: 16 },
    );
    expect(markup(finish.promptIds)).toEqual(["<|bos|>", "<|user|>", "<|end|>", "<|assistant|>"]);
    expect(begun + finish.text).toBe(whole.text);
    expect(other.messages).toEqual([
      { role: "user", content: "A story about a cat" },
      { role: "assistant", content: whole.text },
    ]);
    // Without a further message, the unfinished answer continues.
    const more = await other.complete([], { ...greedy, maxTokens: 4 });
    expect(other.messages.at(-1)).toEqual({ role: "assistant", content: whole.text + more.text });
    expect(more.promptIds).toEqual([...finish.promptIds, ...finish.ids]);
  });

  test("reasoning is separated in a continued answer, too", async () => {
    const begun = [
      { role: "user", content: "Tell me a story about a fox." },
      { role: "assistant", content: "<think>Once upon a time" },
    ];
    const options = { ...greedy, maxTokens: 60 };
    using plain = model.createSession();
    const whole = await plain.complete(begun, { ...options, reasoning: false });
    const comma = whole.text.indexOf(",");
    expect(comma).toBeGreaterThan(0);
    using session = model.createSession();
    const finish = await session.complete(begun, { ...options, reasoning: { open: "<think>", close: "," } });
    expect(finish.ids).toEqual(whole.ids);
    expect(finish.reasoning).toBe(whole.text.slice(0, comma));
    expect(finish.text).toBe(whole.text.slice(comma + 1).trimStart());
    expect(session.messages.at(-1)).toEqual({
      role: "assistant",
      content: finish.text,
      reasoning_content: `Once upon a time${finish.reasoning}`,
    });
  });

  test("an assistant message with tool calls is not continued", async () => {
    using session = model.createSession({ messages: [{ role: "user", content: "x" }] });
    const { promptIds } = await session.complete([{ role: "assistant", content: "y", tool_calls: [{}] }], { ...greedy, maxTokens: 1 });
    expect(markup(promptIds).slice(-3)).toEqual(["<|assistant|>", "<|end|>", "<|assistant|>"]);
  });

  test("a system message that the template does not render becomes part of the user message, with a warning", async () => {
    using session = model.createSession({ messages: [{ role: "system", content: "Be brief." }] });
    const finish = await session.complete("Hi", { ...greedy, maxTokens: 1 });
    expect(model.tokenizer.decode(finish.promptIds, { skipSpecial: false })).toBe("<|bos|><|user|>Be brief.\n\nHi<|end|><|assistant|>");
    expect(finish.warnings).toEqual(["the chat template has no system role: the system message became part of the next user message"]);
    expect(session.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
    using plain = model.createSession();
    expect((await plain.complete("Hi", { ...greedy, maxTokens: 1 })).warnings).toBeUndefined();
  });

  test("special tokens in a raw prompt are text", async () => {
    using session = model.createSession();
    const { promptIds } = await session.complete("<|user|>", { ...greedy, raw: true, maxTokens: 1 });
    expect(markup(promptIds)).toEqual(["<|bos|>"]);
  });

  test.each([
    ["raw", "word ".repeat(1_000_000), { raw: true }],
    ["a chat", "word ".repeat(1_000_000), {}],
  ])("a prompt that is far too long is not encoded to its end: %s", async (_, prompt, options) => {
    using session = model.createSession();
    const failed: unknown = await session.complete(prompt, options).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ContextOverflowError);
    const { message, promptTokens } = failed as ContextOverflowError;
    expect(message).toMatch(/expected at most 127 tokens in a context of 128, got more than 512; /);
    expect(promptTokens).toBeLessThan(200_000);
    await expect(model.embed([prompt])).rejects.toThrow("got more than 512");
    await expect(session.complete("word ".repeat(200), { raw: true })).rejects.toThrow(/got \d{3};/);
  });

  test("a long prompt that is shortened can be aborted while it is encoded", async () => {
    using session = model.createSession();
    const overflow = { prompt: "truncateMiddle" } as const;
    const controller = new AbortController();
    const failed = session.complete("word ".repeat(2_000_000), { raw: true, overflow, signal: controller.signal });
    setImmediate(() => controller.abort(new Error("enough")));
    await expect(failed).rejects.toThrow("enough");
    const { usage } = await session.complete("word ".repeat(10_000), { ...greedy, raw: true, overflow, maxTokens: 1 });
    expect(usage.truncatedTokens).toBeGreaterThan(5000);
  });

  test("template options at the top level are errors that name the right place", () => {
    using session = model.createSession();
    expect(() => session.generate("x", { documents: [] } as object)).toThrow(/got documents; pass chat: \{ documents \}/);
  });

  test("DRY breakers are bounded", async () => {
    using session = model.createSession();
    const complete = (dryBreakers: string[]): Promise<unknown> =>
      session.complete("x", { ...greedy, maxTokens: 1, dryMultiplier: 1, dryBreakers });
    await complete(Array.from({ length: 64 }, (_, i) => String.fromCharCode(0x61 + (i % 26)).repeat(40)));
    await expect(complete(["x".repeat(41)])).rejects.toThrow(
      "dryBreakers: expected a list of at most 64 strings, each of 1 to 40 characters",
    );
    await expect(complete(Array(65).fill("x"))).rejects.toThrow("dryBreakers: expected a list of at most 64 strings");
    await expect(complete([""])).rejects.toThrow("dryBreakers: expected a list of at most 64 strings");
  });
});
