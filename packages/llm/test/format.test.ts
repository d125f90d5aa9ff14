import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AnswerFormat, type GenerateOptions, type GenerationFinish, GrammarError, loadModel, type Model } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";

const greedy = { temperature: 0 } as const;
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];

let runtime: Runtime;
let model: Model;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 2 })], policy: { force: "wasm" } });
  model = await loadModel(tiny, { runtime, contextLength: 256, sequences: 8, batchSize: 64 });
});
afterAll(async () => {
  await model.dispose();
  await runtime.dispose();
});

function complete(format: AnswerFormat, options: GenerateOptions = {}) {
  return model.createSession().complete({ ids: once }, { maxTokens: 200, format, ...options });
}

/** Schemas whose texts are short, whatever the model prefers. */
const schemas = {
  person: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 12 },
      age: { type: "integer", minimum: 0, maximum: 150 },
      tags: { type: "array", items: { enum: ["old", "young", "w\u00f6lfisch"] }, maxItems: 3 },
    },
    required: ["name", "age"],
    additionalProperties: false,
  },
  either: { anyOf: [{ type: "boolean" }, { type: "null" }, { type: "array", items: { type: "boolean" }, minItems: 1, maxItems: 4 }] },
  code: { type: "string", pattern: "^[A-Z]{2,3}-\\d{1,4}$" },
  emoji: { type: "string", minLength: 2, maxLength: 5 },
};

describe("sampled texts at temperature 2 match", () => {
  test.each(Object.entries(schemas))("the schema %s", async (_, schema) => {
    const isValid = new Ajv2020().compile(schema);
    const finishes = await Promise.all(Array.from({ length: 40 }, (_, seed) => complete({ schema }, { temperature: 2, seed })));
    for (const { text, complete: isComplete, value, reason } of finishes) {
      expect({ text, isComplete, reason }).toEqual({ text, isComplete: true, reason: "eos" });
      expect(value).toEqual(JSON.parse(text));
      expect(isValid(value), text).toBe(true);
    }
  });

  const matching: readonly (readonly [title: string, format: AnswerFormat, expected: RegExp])[] = [
    ["a regular expression", { regex: "[a-zäöü]{3,9}( \\p{L}{1,5})?[.!?]" }, /^[a-zäöü]{3,9}( \p{L}{1,5})?[.!?]$/u],
    ["one that begins with spaces", { regex: " {1,3}[ab]+ {0,2}c" }, /^ {1,3}[ab]+ {0,2}c$/],
    ["GBNF", { gbnf: 'root ::= "(" root{0,2} ")" | [0-9]' }, /^[()0-9]+$/],
    ["Lark", { lark: 'start: INT ("," INT)~0..3\nINT: /[0-9]{1,3}/' }, /^\d{1,3}(,\d{1,3}){0,3}$/],
    ["a choice", { choice: ["yes", "no", " maybe", "ja, natürlich"] }, /^(yes|no| maybe|ja, natürlich)$/],
  ];
  test.each(matching)("%s", async (_, format, expected) => {
    const finishes = await Promise.all(Array.from({ length: 30 }, (_, seed) => complete(format, { temperature: 2, seed })));
    for (const finish of finishes) {
      if (finish.reason === "length") expect(finish.complete).toBe(false);
      else {
        expect(finish.text).toMatch(expected);
        expect(finish).toMatchObject({ complete: true, reason: "eos" });
      }
      expect(finish).not.toHaveProperty("value");
    }
    expect(finishes.filter(({ reason }) => reason === "eos").length).toBeGreaterThan(10);
  });
});

test("a text that is cut short is not complete and has no value", async () => {
  const cut = await complete({ schema: schemas.person }, { ...greedy, maxTokens: 3 });
  expect(cut).toMatchObject({ reason: "length", limit: "maxTokens", complete: false });
  expect(cut).not.toHaveProperty("value");
  // What matches already, but might have gone on, was cut short as well.
  expect(await complete({ regex: "a{1,100}" }, { ...greedy, maxTokens: 1 })).toMatchObject({ reason: "length", complete: false });
  expect(await complete({ regex: "a" }, { ...greedy, maxTokens: 1 })).toMatchObject({ text: "a", reason: "length", complete: true });
  const free = await model.createSession().complete({ ids: once }, { ...greedy, maxTokens: 3 });
  expect(free).not.toHaveProperty("complete");
});

test("an answer that was cut short goes on where it was cut", async () => {
  const format = { schema: schemas.person };
  const begin = [{ role: "user", content: "Who?" }];
  for (const maxTokens of [1, 4, 9]) {
    const cut = await model.createSession().complete(begin, { temperature: 2, seed: 5, format, maxTokens });
    expect(cut.complete).toBe(false);
    const session = model.createSession();
    const partials: unknown[] = [];
    let finish: GenerationFinish | undefined;
    const open = [...begin, { role: "assistant", content: cut.text }];
    for await (const part of session.generate(open, { temperature: 2, seed: 6, format, partial: true })) {
      if (part.type === "text") partials.push(part.partial);
      if (part.type === "finish") finish = part;
    }
    const text = cut.text + finish!.text;
    expect(finish).toMatchObject({ reason: "eos", complete: true, value: JSON.parse(text) });
    expect(new Ajv2020().compile(schemas.person)(finish!.value), text).toBe(true);
    expect(partials.at(-1)).toEqual(finish!.value);
    expect(session.messages.at(-1)?.content).toBe(text);
  }
});

test("a greedy text that matches anyway is the same", async () => {
  const free = await model.createSession().complete({ ids: once }, { ...greedy, maxTokens: 40 });
  const same = await complete({ regex: "(.|\\n)*" }, { ...greedy, maxTokens: 40 });
  expect(same.ids).toEqual(free.ids);
  expect(same.text).toBe(free.text);
});

test("the model's log probabilities are reported", async () => {
  const [free, chosen] = [
    await model.createSession().complete({ ids: once }, { ...greedy, maxTokens: 1, logprobs: 3 }),
    await complete({ choice: ["yes", "no"] }, { ...greedy, maxTokens: 1, logprobs: 3 }),
  ];
  expect(chosen.logprobs?.[0]?.top).toEqual(free.logprobs?.[0]?.top);
  expect(chosen.logprobs?.[0]?.id).not.toBe(free.logprobs?.[0]?.id);
});

test("texts do not depend on what else is generated, nor on prompt lookup", async () => {
  const options = (seed: number): GenerateOptions => ({ temperature: 2, seed, maxTokens: 40 });
  const format = { schema: { type: "array", items: { enum: ["red fox", "red fox and wolf", "owl"] }, minItems: 6, maxItems: 9 } };
  const seeds = Array.from({ length: 8 }, (_, seed) => seed);
  const together = await Promise.all(seeds.map((seed) => complete(format, options(seed))));
  let accepted = 0;
  for (const seed of seeds) {
    const alone = await complete(format, options(seed));
    expect(alone.ids).toEqual(together[seed]?.ids);
    const drafted = await complete(format, { ...options(seed), promptLookup: 6 });
    expect(drafted.ids).toEqual(alone.ids);
    accepted += drafted.usage.acceptedTokens;
  }
  expect(accepted).toBeGreaterThan(0);
});

describe("with reasoning, the answer matches and the thought is free", () => {
  // Short tags, which random text soon writes.
  const tags = { open: "<", close: "e", answer: "[", answerClose: "]" };
  const format = { regex: "[a-d]{2,4}" };
  test.each([
    ["that the prompt opens", "Once upon a time <", { open: "<", close: "e" }, true],
    ["that the model may open", "Once upon a time", { open: "t", close: "e" }, false],
    ["before an answer in tags", "Once upon a time <", tags, true],
  ] as const)("%s", async (_, text, reasoning, isOpen) => {
    const ids = model.tokenizer.encode(text);
    const finishes = await Promise.all(
      Array.from({ length: 30 }, (_, seed) =>
        model.createSession().complete({ ids }, { temperature: 2, seed, format, reasoning, maxTokens: 60 }),
      ),
    );
    const done = finishes.filter(({ reason }) => reason === "eos");
    expect(done.length).toBeGreaterThan(10);
    for (const finish of done) {
      expect(finish.text).toMatch(/^[a-d]{2,4}$/);
      expect(finish.complete).toBe(true);
    }
    expect(finishes.some((finish) => (finish.reasoning ?? "") !== "")).toBe(true);
    if (isOpen) expect(finishes.filter(({ reason }) => reason !== "eos").every((finish) => finish.complete === false)).toBe(true);
  });
});

describe("errors reach the caller before anything is generated", () => {
  test.each([
    [{ schema: { type: "array", uniqueItems: true, minItems: 3 } }, { code: "GRAMMAR_UNSUPPORTED", keyword: "uniqueItems", pointer: "" }],
    [{ schema: { type: "string", enum: [1] } }, { code: "GRAMMAR_EMPTY" }],
    [{ schema: { $ref: "https://schemas.test/a" } }, { code: "GRAMMAR_REFERENCE" }],
    [{ regex: "(" }, { code: "GRAMMAR_SYNTAX" }],
    [{ regex: "(?=a)b" }, { code: "GRAMMAR_UNSUPPORTED" }],
    [{ gbnf: "root ::= missing" }, { code: "GRAMMAR_REFERENCE" }],
    [{ lark: "start: missing" }, { code: "GRAMMAR_REFERENCE" }],
    [{ choice: [] }, { code: "GRAMMAR_EMPTY" }],
  ] satisfies (readonly [AnswerFormat, object])[])("%j", async (format, fields) => {
    const session = model.createSession();
    const error = await session.complete({ ids: once }, { format }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GrammarError);
    expect(error).toMatchObject(fields);
    expect(session.messages).toEqual([]);
  });

  test.each([[{}], [{ schema: true, regex: "a" }], [{ regex: 5 }], [{ schema: "{}" }], ["yaml"], [[]], [null]])("%j", async (format) => {
    const run = model.createSession().complete("a", { format: format as AnswerFormat });
    await expect(run).rejects.toThrow(/format: expected "json" or an object with one of/);
  });

  test("types of validation libraries without JSON Schemas, and answers that continue another text, are refused", async () => {
    const session = model.createSession();
    const type = { "~standard": { version: 1 } };
    await expect(session.complete("a", { format: { schema: type } })).rejects.toThrow(UnsupportedError);
    const continued = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ];
    await expect(session.complete(continued, { format: "json" })).rejects.toThrow(
      /format: expected a message to continue that begins like/,
    );
    const thought = [continued[0]!, { role: "assistant", content: "<think>1" }];
    const reasoning = { open: "<think>", close: "</think>" };
    await expect(session.complete(thought, { format: "json", reasoning })).rejects.toThrow(/continues a message/);
  });
});

test("keywords of a schema that have no effect are warnings", async () => {
  const { warnings } = await complete({ schema: { type: "boolean", colour: "red" } }, greedy);
  expect(warnings).toEqual([expect.stringContaining("colour")]);
});
