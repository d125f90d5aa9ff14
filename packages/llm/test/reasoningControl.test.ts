import { wasm } from "@centella/backend-wasm";
import { ArgumentError, createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlReasoning } from "../src/chat/reasoningControl.ts";
import { ChatTemplate, type GenerateOptions, loadModel, type Model } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";

let runtime: Runtime;
let model: Model;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 2 })], policy: { force: "wasm" } });
  model = await loadModel(tiny, { runtime, contextLength: 256, sequences: 4, batchSize: 64 });
});
afterAll(async () => {
  await model.dispose();
  await runtime.dispose();
});

describe("a budget", () => {
  const format = { open: "<think>", close: "</think>" };
  const prompt = () => ({ ids: model.tokenizer.encode("Once upon a time <think>") });

  test.each([0, 1, 7, 20])("of %d tokens ends the thought", async (budget) => {
    const finish = await model.createSession().complete(prompt(), { reasoning: { budget, format }, temperature: 0, maxTokens: 60 });
    const close = model.tokenizer.encode("</think>", { addSpecial: false });
    expect(finish.ids.slice(budget, budget + close.length)).toEqual([...close]);
    expect(finish.reasoning).toBe(model.tokenizer.decode(finish.ids.slice(0, budget)).trim());
    expect(finish.text).not.toBe("");
    const free = await model.createSession().complete(prompt(), { reasoning: format, temperature: 0, maxTokens: 60 });
    expect(finish.ids.slice(0, budget)).toEqual(free.ids.slice(0, budget));
  });

  test("does not limit the answer, and works with a format, log probabilities and prompt lookup", async () => {
    const options: GenerateOptions = {
      reasoning: { budget: 5, format },
      format: { choice: ["yes", "no"] },
      temperature: 0,
      maxTokens: 60,
      logprobs: 1,
    };
    const finish = await model.createSession().complete(prompt(), options);
    expect(["yes", "no"]).toContain(finish.text);
    expect(finish).toMatchObject({ complete: true, reason: "eos" });
    expect(finish.logprobs?.map(({ id }) => id)).toEqual(finish.ids);
    const drafted = await model.createSession().complete(prompt(), { ...options, promptLookup: 4 });
    expect(drafted.ids).toEqual(finish.ids);
    const long = await model.createSession().complete(prompt(), { reasoning: { budget: 3, format }, temperature: 0, maxTokens: 40 });
    expect(long.ids.length).toBe(40);
  });
});

const chat = (end: string) =>
  `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]${end}{% endif %}`;
const template = (source: string) => new ChatTemplate({ source });
const messages = [{ role: "user", content: "Hi" }];

describe("turning reasoning off", () => {
  test.each([
    [
      "leaves it to a switch of the template",
      `${chat("{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>{% endif %}")}`,
      "",
    ],
    ["closes a thought that the template opens", `${chat("<think>\n")}{# </think> #}`, "\n</think>\n\n"],
    ["adds an empty thought without a switch", `${chat("")}{# </think> #}`, "<think>\n\n</think>\n\n"],
    ["adds nothing where the model does not reason", chat(""), ""],
    [
      "adds an empty message to the Harmony format",
      `${chat("")}{# <|channel|> #}`,
      "<|channel|>analysis<|message|><|end|><|start|>assistant",
    ],
  ])("%s", (_, source, suffix) => {
    expect(controlReasoning({ off: true }, template(source), messages, {}).suffix).toBe(suffix);
  });

  test("appends the empty thought to the prompt", async () => {
    const on = await model.createSession().complete("A fox", { maxTokens: 1, temperature: 0 });
    const off = await model.createSession().complete("A fox", { maxTokens: 1, temperature: 0, reasoning: { off: true } });
    // The storyteller does not reason.
    expect(off.promptIds).toEqual(on.promptIds);
  });
});

test("the effort is a variable of the template", () => {
  const knows = template(`${chat("{{ reasoning_effort }}")}`);
  expect(controlReasoning({ effort: "low" }, knows, messages, {}).chat.variables).toEqual({ reasoning_effort: "low" });
  expect(controlReasoning({ effort: "low" }, knows, messages, { variables: { reasoning_effort: "high" } }).chat.variables).toEqual({
    reasoning_effort: "high",
  });
  expect(() => controlReasoning({ effort: "low" }, template(chat("")), messages, {})).toThrow(UnsupportedError);
});

test.each([[{ budget: -1 }], [{ budget: 1.5 }], [{ effort: "" }], [{ off: "yes" }], [{ budge: 1 }], [{ format: "x" }], [{ open: "a" }]])(
  "%j is refused",
  (reasoning) => {
    expect(() => model.createSession().generate("a", { reasoning } as GenerateOptions)).toThrow(ArgumentError);
  },
);

describe("an option without an effect is refused", () => {
  test.each<[string, NonNullable<GenerateOptions["reasoning"]>, RegExp]>([
    ["effort of a raw prompt", { effort: "low" }, /reasoning\.effort: unsupported: the prompt is no turn of a chat; pass/],
    ["off for a raw prompt", { off: true }, /reasoning\.off: unsupported: the prompt is no turn of a chat; pass/],
    ["a budget of a raw prompt", { budget: 3 }, /reasoning\.budget: unsupported: the reasoning is not separated .*; pass/],
  ])("%s", async (_, reasoning, message) => {
    for (const [prompt, raw] of [
      ["a", true],
      [{ ids: [1, 2] }, undefined],
    ] as const) {
      const run = model.createSession().complete(prompt, { reasoning, raw, maxTokens: 1 });
      await expect(run).rejects.toThrow(UnsupportedError);
      await expect(run).rejects.toThrow(message);
    }
  });

  test("a budget where the chat's reasoning is not separated", async () => {
    const run = model.createSession().complete("a", { reasoning: { budget: 3 }, maxTokens: 1 });
    await expect(run).rejects.toThrow(/reasoning\.budget: unsupported/);
  });

  test("but not what changes nothing", async () => {
    const { reason } = await model.createSession().complete("a", { reasoning: { off: false }, raw: true, maxTokens: 1 });
    expect(reason).toBe("length");
  });
});
