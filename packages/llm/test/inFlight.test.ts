import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GenerateOptions, type GenerationFinish, type GenerationPart, loadModel, type Model } from "../src/index.ts";
import { namedFormats } from "../src/tools/formats/namedFormats.ts";
import type { ToolFormat } from "../src/tools/formats/toolFormat.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { interpreted, opens, software } from "./gpus.ts";
import { tiny } from "./modelFiles.ts";

const once = [0, 2817, 632, 263, 534];
const greedy: GenerateOptions = { temperature: 0, seed: 1, maxTokens: 24 };
const sizes = { contextLength: 96, sequences: 4, batchSize: 8 } as const;

/** What a generation gives, without its times and without what earlier texts change. */
function outcome({ timings: _, usage: { cachedTokens, ...usage }, ...finish }: GenerationFinish) {
  return { ...finish, usage };
}

let runtime: Runtime;
let alone: Model;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  alone = await loadModel(tiny, { runtime, ...sizes, runsInFlight: 1 });
});
afterAll(async () => {
  await alone.dispose();
  await runtime.dispose();
});

const complete = async (model: Model, options: GenerateOptions, ids: readonly number[] = once) =>
  outcome(await model.createSession().complete({ ids }, options));

/** A text that occurs in the middle of what the model writes. */
async function stopInside(): Promise<string> {
  const { text } = await complete(alone, greedy);
  return text.slice(Math.floor(text.length / 2), Math.floor(text.length / 2) + 5);
}

describe.each([2, 4])("with %s runs in flight", (runsInFlight) => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(tiny, { runtime, ...sizes, runsInFlight });
  });
  afterAll(() => model.dispose());

  const cases: readonly (readonly [string, GenerateOptions])[] = [
    ["one token", { maxTokens: 1 }],
    ["two tokens", { maxTokens: 2 }],
    ["many tokens", { maxTokens: 60 }],
    ["a stop string", { maxTokens: 60, stop: ["."] }],
    ["a full context", { maxTokens: 500 }],
    ["a context that shifts", { maxTokens: 150, overflow: { generation: "shift" } }],
    ["drafts", { promptLookup: 4, maxTokens: 60 }],
    ["tokens that the device draws", { temperature: 0.9, seed: 5, topK: 20, topP: 0.9, maxTokens: 60 }],
    ["tokens that the host draws", { temperature: 0.9, seed: 5, repeatPenalty: 1.2 }],
    ["a format", { format: { regex: "[a-z ]{4,9}" } }],
    ["a format with drafts", { format: { regex: "(the red fox|[a-z ]{9,}){5}" }, promptLookup: 4 }],
    ["log probabilities", { logprobs: 2 }],
  ];
  test.each(cases)("%s: text, end and counts are as with one", async (_, options) => {
    expect(await complete(model, { ...greedy, ...options })).toEqual(await complete(alone, { ...greedy, ...options }));
  });

  test("a stop string ends the text where it does with one", async () => {
    const options = { ...greedy, stop: [await stopInside()] };
    const finish = await complete(model, options);
    expect(finish.reason).toBe("stop");
    expect(finish).toEqual(await complete(alone, options));
  });

  test("a full context is an error where it is one", async () => {
    const options: GenerateOptions = { ...greedy, maxTokens: 500, overflow: { generation: "error" } };
    await expect(complete(model, options)).rejects.toThrow(/context/);
  });

  test("the parts of a stream are the same, one by one", async () => {
    const read = async (from: Model): Promise<readonly GenerationPart[]> => {
      const parts: GenerationPart[] = [];
      for await (const part of from.createSession().generate({ ids: once }, { ...greedy, progress: true }))
        parts.push(part.type === "finish" ? (outcome(part) as GenerationFinish) : part);
      return parts;
    };
    expect(await read(model)).toEqual(await read(alone));
  });

  test("an abort in the middle keeps what was read, and the session goes on as with one", async () => {
    const answers: unknown[] = [];
    for (const from of [model, alone]) {
      const session = from.createSession();
      const controller = new AbortController();
      const ids: number[] = [];
      let reason: string | undefined;
      for await (const part of session.generate({ ids: once }, { ...greedy, signal: controller.signal, onAbort: "keep" })) {
        if (part.type === "text") ids.push(...part.ids);
        if (part.type === "finish") reason = part.reason;
        if (ids.length >= 7) controller.abort();
      }
      answers.push({ ids, reason, next: outcome(await session.complete({ ids: [...once, ...ids, 17] }, greedy)) });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ reason: "aborted" });
  });

  test("a loop that is left early leaves the session as with one", async () => {
    const answers: unknown[] = [];
    for (const from of [model, alone]) {
      const session = from.createSession();
      let ids: readonly number[] = [];
      for await (const part of session.generate({ ids: once }, greedy)) {
        if (part.type === "text") ids = [...ids, ...part.ids];
        if (ids.length >= 5) break;
      }
      answers.push(outcome(await session.complete({ ids: [...once, ...ids] }, greedy)));
    }
    expect(answers[0]).toEqual(answers[1]);
  });

  test("sessions that join and leave get their texts", async () => {
    const wanted = [
      { ...greedy, maxTokens: 40 },
      { ...greedy, maxTokens: 3 },
      { ...greedy, temperature: 0.8, seed: 3 },
      { ...greedy, maxTokens: 11 },
      { ...greedy, promptLookup: 4 },
      { ...greedy, maxTokens: 25 },
    ].map((options, i) => ({ options, ids: [...once, 20 + i, 30 + i] }));
    const expected = [];
    for (const { options, ids } of wanted) expected.push(await complete(alone, options, ids));
    const joining = wanted.map(async ({ options, ids }, i) => {
      for (let turn = 0; turn < 3 * i; turn++) await new Promise((resolve) => setImmediate(resolve));
      return complete(model, options, ids);
    });
    const withoutCache = ({ usage: _, ...rest }: Awaited<ReturnType<typeof complete>>) => rest;
    expect((await Promise.all(joining)).map(withoutCache)).toEqual(expected.map(withoutCache));
  });

  test("sequences share runs", async () => {
    const counters = runtime.counters.wasm!;
    const before = counters.submits;
    const count = 30;
    await Promise.all([0, 1, 2].map((i) => complete(model, { ...greedy, maxTokens: count }, [...once, 40 + i])));
    // One run for each token of all, some more at the beginning and at the ends.
    expect(counters.submits - before).toBeLessThan(count + 4 * runsInFlight);
  });

  test("a stream that is not read is parked and goes on with the same text", async () => {
    const small = await loadModel(tiny, { runtime, contextLength: 96, batchSize: 8, runsInFlight });
    const options = { ...greedy, maxTokens: 40 };
    const stream = small.createSession().generate({ ids: once }, options);
    const parts: GenerationPart[] = [];
    for (let i = 0; i < 5; i++) parts.push((await stream.next()).value as GenerationPart);
    await small.logits(Array.from({ length: 96 }, (_, i) => 300 + i));
    for await (const part of stream) parts.push(part);
    expect((parts.at(-1) as GenerationFinish).ids).toEqual((await complete(alone, options)).ids);
    await small.dispose();
  });

  test("a session is saved and restored as with one", async () => {
    const session = model.createSession();
    const { ids } = await session.complete({ ids: once }, greedy);
    await using elsewhere = await loadModel(tiny, { runtime, ...sizes, runsInFlight: 1 });
    const restored = await elsewhere.restoreSession(await session.save());
    const next = [...once, ...ids, 17];
    const finish = await restored.complete({ ids: next }, greedy);
    expect(finish.usage.cachedTokens).toBe(once.length + ids.length - 1);
    expect(finish.ids).toEqual((await complete(alone, greedy, next)).ids);
  });
});

test("recurrent models queue one run, because their state cannot go back", async () => {
  const bytes = familyModel(withVocabulary(readFamilyGolden("mamba2")));
  const options = { temperature: 0, seed: 1, maxTokens: 6 } as const;
  const [many, one] = await Promise.all([4, 1].map((runsInFlight) => loadModel(bytes, { runtime, cacheType: "f32", runsInFlight })));
  const before = runtime.counters.wasm!.ops.gather ?? 0;
  const prompt = { ids: [3, 5, 7] };
  expect((await many!.createSession().complete(prompt, options)).ids).toEqual((await one!.createSession().complete(prompt, options)).ids);
  expect(runtime.counters.wasm!.ops.gather ?? 0).toBe(before);
  await Promise.all([many!.dispose(), one!.dispose()]);
});

const argumentsOfCalls = { type: "object", properties: { a: { enum: ["ab", "ba"] } }, required: ["a"], additionalProperties: false };
const { prefix: _, ...pythonCalls } = namedFormats["llama-4"];
/** Calls such as `[f(a="x")]`, without a tag before them. */
const plainCalls: ToolFormat = {
  ...pythonCalls,
  name: "test",
  reason: "",
  template: { calls: "none", content: "", rendersContent: true, tools: "tools", results: false },
};

/** A model whose vocabulary has the characters of calls of tools. */
function callingModel(): Uint8Array<ArrayBuffer> {
  const tokens = ["<unk>", "<s>", "</s>", ...'abcdefghijklmnopqrstu[]()="!?,', "\u0120", "\u010a", "ab", ..."wxyz"];
  const golden = withVocabulary(readFamilyGolden("llama-moe"), "gpt2");
  const replaced = ["tokenizer.ggml.tokens", "tokenizer.ggml.merges"];
  return familyModel({
    ...golden,
    metadata: [
      ...golden.metadata.filter(([key]) => !replaced.includes(key)),
      ["tokenizer.ggml.tokens", "strings", tokens],
      ["tokenizer.ggml.merges", "strings", ["a b"]],
      [
        "tokenizer.chat_template",
        "string",
        "{% for t in tools %}{{ t.function.name }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}",
      ],
    ],
  });
}

describe.each([interpreted, ...((await opens(software)) ? [software] : [])])("on $name, tokens stay on the device", (factory) => {
  test("and texts are those of one run at a time", async () => {
    const bytes = callingModel();
    await using device = await createRuntime({ backends: [factory], policy: { force: factory.name } });
    const texts: unknown[] = [];
    const sampled = { seed: 1, maxTokens: 5 };
    for (const runsInFlight of [1, 3]) {
      await using model = await loadModel(bytes, { runtime: device, cacheType: "f32", sequences: 2, runsInFlight });
      const wanted = [{ ...sampled, temperature: 0 }, sampled].map((options, i) => complete(model, options, [3 + i, 5, 7]));
      texts.push(await Promise.all(wanted));
      // A bias leaves the choice to the host.
      expect((await complete(model, { ...sampled, logitBias: { 3: 0 } }, [4, 5, 7])).ids).toEqual((await wanted[1]!).ids);
      if (runsInFlight === 1) continue;
      // Masks go there, also for drafts of forced text.
      const format = { regex: "[a-c]ab![a-c]ab" };
      const plain = await complete(model, { ...sampled, maxTokens: 9, temperature: 0, format, jumpForward: false }, [4, 5, 7]);
      const drafted = await complete(model, { ...sampled, maxTokens: 9, temperature: 0, format }, [4, 5, 7]);
      expect(drafted.ids).toEqual(plain.ids);
      expect(drafted.complete).toBe(true);
      expect(drafted.usage.draftedTokens).toBeGreaterThan(0);
      // So do those of calls of tools.
      const call = await model.createSession().complete("ab", {
        seed: 1,
        tools: [{ name: "f", inputSchema: argumentsOfCalls }],
        toolChoice: "required",
        parallelToolCalls: false,
        toolFormat: plainCalls,
      });
      expect(call).toMatchObject({ reason: "toolCalls", toolCalls: [{ name: "f", arguments: { a: expect.stringMatching(/^(ab|ba)$/) } }] });
    }
    expect(texts[1]).toEqual(texts[0]);
  });
});
