import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { describe, expect, test } from "vitest";
import { forcedTokens, spelling } from "../src/format/forcedTokens.ts";
import { FormatDrafts, type NextTokens } from "../src/format/formatDrafts.ts";
import { controlBytes } from "../src/format/markup.ts";
import { type GenerateOptions, type GenerationFinish, loadModel, type Model } from "../src/index.ts";
import { createTokenizer } from "../src/tokenizer/createTokenizer.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { tiny } from "./modelFiles.ts";
import { fakeMetadata } from "./shared.ts";

/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];
const fox = { const: "red fox and wolf" };
const format = {
  schema: {
    type: "object",
    properties: { animal: fox, other: { enum: ["red owl", "red fox"] }, again: fox, old: { type: "boolean" } },
    required: ["animal", "other", "again", "old"],
    additionalProperties: false,
  },
};

/** What a generation gives, without what drafts and earlier texts may change. */
function outcome({ timings: _, usage: { draftedTokens, acceptedTokens, cachedTokens, ...usage }, ...finish }: GenerationFinish) {
  return { ...finish, usage };
}

const cases: readonly (readonly [title: string, options: GenerateOptions])[] = [
  ["the greatest logits", { temperature: 0 }],
  ["draws", { temperature: 2, seed: 3 }],
  ["draws of the host", { temperature: 2, seed: 3, repeatPenalty: 1.2 }],
  ["log probabilities", { temperature: 0, logprobs: 2 }],
  ["a stop string", { temperature: 0, stop: ["again"] }],
];

async function checkSame(model: Model, options: GenerateOptions, seeds: readonly number[]): Promise<{ accepted: number }> {
  let accepted = 0;
  const complete = (more: GenerateOptions, seed: number) =>
    model.createSession().complete({ ids: once }, { maxTokens: 60, format, seed, ...options, ...more });
  for (const seed of seeds) {
    const plain = await complete({ jumpForward: false }, seed);
    expect(plain.usage).toMatchObject({ draftedTokens: 0, acceptedTokens: 0 });
    for (const more of [{}, { promptLookup: 6 }, { promptLookup: 6, jumpForward: false }]) {
      const drafted = await complete(more, seed);
      expect(outcome(drafted)).toEqual(outcome(plain));
      accepted += drafted.usage.acceptedTokens;
    }
  }
  return { accepted };
}

describe("text and counts are the same with drafts of forced text and without", () => {
  test.each([1, 4])("with %s runs in flight, alone and together", async (runsInFlight) => {
    await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    await using model = await loadModel(tiny, { runtime, contextLength: 96, sequences: 4, batchSize: 16, runsInFlight });
    const alone = [];
    for (const [, options] of cases) alone.push(await checkSame(model, options, [1, 2]));
    expect(alone.every(({ accepted }) => accepted > 0)).toBe(true);
    await Promise.all(cases.map(([, options]) => checkSame(model, options, [4])));
  });

  test("of a recurrent model", async () => {
    await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    const bytes = familyModel(withVocabulary(readFamilyGolden("mamba2"), "gpt2"));
    await using model = await loadModel(bytes, { runtime, cacheType: "f32" });
    const options = { temperature: 0, seed: 1, maxTokens: 12, format: { regex: "(ab\\?ab!ab){2}[a-c]{2}" } };
    const plain = await model.createSession().complete({ ids: [3, 5] }, { ...options, jumpForward: false });
    const drafted = await model.createSession().complete({ ids: [3, 5] }, options);
    expect(outcome(drafted)).toEqual(outcome(plain));
    expect(drafted.usage.draftedTokens).toBeGreaterThan(0);
  });
});

test("forced text takes fewer runs", async () => {
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await using model = await loadModel(tiny, { runtime, contextLength: 96, batchSize: 64 });
  const runs = async (jumpForward: boolean): Promise<number> => {
    const before = runtime.counters.wasm!.submits;
    await model.createSession().complete({ ids: once }, { temperature: 0, format, jumpForward });
    return runtime.counters.wasm!.submits - before;
  };
  expect(await runs(true)).toBeLessThan(0.9 * (await runs(false)));
});

describe("forced bytes are cut as the tokenizer cuts them", () => {
  const bytePairs = ["{", '"', "a", "b", '{"', "ab", 'ab"', ":", "\u00c3", "\u00a9", "<x>", "</s>"];
  const pairs = createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "gpt-2",
      "tokenizer.ggml.tokens": bytePairs,
      "tokenizer.ggml.merges": ['{ "', "a b"],
      "tokenizer.ggml.token_type": bytePairs.map((token) => (token.startsWith("<") ? 3 : 1)),
      "tokenizer.ggml.eos_token_id": bytePairs.length - 1,
    }),
  );
  const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
  const names = (tokenizer: typeof pairs, ids: readonly number[]): readonly string[] => ids.map((id) => tokenizer.tokenText(id));

  test.each([
    ["after a token that ends where they begin", '"ab":', "{", ['"', "ab", '"', ":"]],
    ["up to a character that is cut", "a\u00e9", "b", ["a", "\u00c3", "\u00a9"]],
  ])("%s", (_, text, last, expected) => {
    expect(names(pairs, forcedTokens(pairs, utf8(text), bytePairs.indexOf(last)))).toEqual(expected);
  });

  test("with control tokens in them", () => {
    const forced = Uint8Array.of(...utf8("ab"), ...controlBytes(10), ...utf8("a"));
    expect(names(pairs, forcedTokens(pairs, forced, 0))).toEqual(["ab", "<x>", "a"]);
  });

  test("not within a character, nor without tokens for them", () => {
    expect(forcedTokens(pairs, Uint8Array.of(0xa9, 0x61), 8)).toEqual([]);
    expect(names(pairs, forcedTokens(pairs, Uint8Array.of(0x61, 0xc3), 8))).toEqual(["a"]);
    expect(forcedTokens(pairs, utf8("z"), 0)).toEqual([]);
  });

  test("without the space that texts begin with", () => {
    const words = ["<unk>", "<s>", "</s>", "\u2581", "\u2581a", "a", "b", "ab", "\u2581ab", "<0x0A>"];
    const pieces = createTokenizer(
      fakeMetadata({
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": words.map((_, i) => i),
        "tokenizer.ggml.token_type": words.map((_, i) => (i < 3 ? 3 : i === 9 ? 6 : 1)),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
      }),
    );
    expect(names(pieces, forcedTokens(pieces, utf8("ab"), 6))).toEqual(["ab"]);
    expect(names(pieces, forcedTokens(pieces, utf8("ab"), 1))).toEqual(["ab"]);
  });
});

/** Bytes `1, 2, 3, …` are forced, and the tokenizer cuts them into these tokens. */
function forcing(bytes: () => readonly number[]): NextTokens {
  return {
    forced: () => Uint8Array.from(bytes()),
    isForcedAfter: () => true,
    cut: (all) => [...all],
    spelling: (ids, all) => ids.filter((id, i) => id === 10 * all[i]!),
    allowed: (ids) => ids,
    certain: () => [1],
  };
}

test("drafts of forced text that are rejected become shorter and rare", async () => {
  let turn = 0;
  const next = { ...forcing(() => [1, 2, turn++]), certain: () => [] };
  const drafts = new FormatDrafts(next, { forces: true, other: undefined, sequences: () => 1 });
  const lengths: number[] = [];
  for (let i = 0; i < 60; i++) {
    const { length } = await drafts.draft([0], 8);
    lengths.push(length);
    if (length > 0) drafts.adapt(length, 0);
  }
  const tried = lengths.filter((length) => length > 0);
  expect(tried[0]).toBe(3);
  expect(Math.max(...tried.slice(1))).toBe(1);
  expect(tried.length).toBeGreaterThan(3);
  expect(tried.length).toBeLessThan(10);
});

test("certain tokens are drafted even where drafts are rejected", async () => {
  const next = { ...forcing(() => [1, 2, 3]), certain: () => [1, 2] };
  const drafts = new FormatDrafts(next, { forces: true, other: undefined, sequences: () => 1 });
  expect(await drafts.draft([0], 8)).toEqual([1, 2, 3]);
  drafts.adapt(3, 0);
  expect(await drafts.draft([0], 8)).toEqual([1, 2]);
});

test("text that was forced before is drafted as the model cut it then", async () => {
  const drafts = new FormatDrafts(
    forcing(() => [1, 2]),
    { forces: true, other: undefined, sequences: () => 1 },
  );
  expect(await drafts.draft([7], 8)).toEqual([1, 2]);
  drafts.adapt(2, 1);
  expect(await drafts.draft([7, 10, 20, 8], 8)).toEqual([10, 20]);
  drafts.adapt(2, 2);
  expect(await drafts.draft([7, 10, 20, 8, 10, 20, 9, 9], 1)).toEqual([10]);
});

test.each([
  // One token is certain.
  [false, [7, 3, 1, 1, 1, 1]],
  [true, [7, 3, 1, 1, 0, 0]],
])("sequences that share a run draft fewer tokens, and only cheap ones where tokens are computed ahead (%s)", async (isAhead, expected) => {
  const lengths: number[] = [];
  for (const sequences of [1, 2, 3, 4, 5, 100]) {
    const drafts = new FormatDrafts(
      forcing(() => [1, 2, 3, 4, 5, 6, 7, 8, 9]),
      { forces: true, other: undefined, sequences: () => sequences, isAhead: () => isAhead },
    );
    lengths.push((await drafts.draft([0], 20)).length);
  }
  expect(lengths).toEqual(expected);
});

test("tokens that spell a beginning of forced bytes", () => {
  const words = ["a", "b", "ab", "<x>", "</s>"];
  const tokenizer = createTokenizer(
    fakeMetadata({
      "tokenizer.ggml.model": "gpt2",
      "tokenizer.ggml.pre": "gpt-2",
      "tokenizer.ggml.tokens": words,
      "tokenizer.ggml.merges": ["a b"],
      "tokenizer.ggml.token_type": [1, 1, 1, 3, 3],
      "tokenizer.ggml.eos_token_id": 4,
    }),
  );
  const bytes = Uint8Array.of(0x61, 0x62, ...controlBytes(3), 0x61);
  expect(spelling(tokenizer, [2, 3, 0], bytes)).toEqual([2, 3, 0]);
  expect(spelling(tokenizer, [0, 1, 3, 2], bytes)).toEqual([0, 1, 3]);
  expect(spelling(tokenizer, [0, 0], bytes)).toEqual([0]);
});
