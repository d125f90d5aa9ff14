import { createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blockTokens } from "../src/blockTree.ts";
import { loadModel, type Model } from "../src/index.ts";
import { SequencePool } from "../src/kvCache.ts";
import { type FamilyGolden, familyModel, readFamilyGolden } from "./familyFixture.ts";

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

describe("sequences with states", () => {
  const owner = {};
  const pool = (count: number): SequencePool => new SequencePool(count, 4, { isRecurrent: true });
  const use = (from: SequencePool, ids: readonly number[]): { readonly cached: number; readonly index: number } => {
    const sequence = from.acquire(owner, ids);
    const cached = sequence.ids.length;
    sequence.reserve(ids.length - cached);
    sequence.append(ids.slice(cached));
    from.release(sequence);
    return { cached, index: sequence.index };
  };

  test("go on behind all that they stand for, and otherwise begin anew", () => {
    const states = pool(1);
    const ids = numbers(blockTokens + 5);
    expect(use(states, ids).cached).toBe(0);
    expect(use(states, [...ids, 7, 8]).cached).toBe(ids.length);
    expect(use(states, ids).cached).toBe(0);
    expect(use(states, [...ids.slice(0, 9), 99]).cached).toBe(0);
  });

  test("the row that stands furthest is taken, and one that is of no use for another text", () => {
    const states = pool(3);
    const [short, long] = [numbers(3), numbers(9)];
    expect(use(states, long)).toEqual({ cached: 0, index: 0 });
    expect(use(states, short)).toEqual({ cached: 0, index: 1 });
    expect(use(states, [...long, 5])).toEqual({ cached: 9, index: 0 });
    expect(use(states, [3, 2, 1])).toEqual({ cached: 0, index: 2 });
    expect(use(states, [...short, 40])).toEqual({ cached: 3, index: 1 });
  });

  test("what a failed run left is never gone on from", () => {
    const states = pool(1);
    const sequence = states.acquire(owner);
    sequence.reserve(3);
    sequence.append([1, 2, 3]);
    sequence.reserve(2);
    expect(() => sequence.reserve(2)).toThrow(/got one with a failed run; restart it/);
    states.release(sequence);
    expect(use(states, [1, 2, 3, 4, 5]).cached).toBe(0);
  });
});

/** The model with a vocabulary, so that it generates. */
function withVocabulary(golden: FamilyGolden): FamilyGolden {
  const tokens = ["<unk>", "<s>", "</s>", ...numbers(37).map((i) => `\u2581${String.fromCodePoint(97 + (i % 26))}${i}`)];
  return {
    ...golden,
    metadata: [
      ...golden.metadata.filter(([key]) => !key.startsWith("tokenizer.")),
      ["tokenizer.ggml.model", "string", "llama"],
      ["tokenizer.ggml.tokens", "strings", tokens],
      ["tokenizer.ggml.scores", "f32[]", tokens.map((_, i) => -i)],
      ["tokenizer.ggml.token_type", "i32[]", tokens.map((_, i) => (i < 3 ? 3 : 1))],
      ["tokenizer.ggml.bos_token_id", "u32", 1],
      ["tokenizer.ggml.eos_token_id", "u32", 2],
    ],
  };
}

describe.each(["mamba", "jamba", "lfm2"])("sessions of a recurrent model: %s", (name) => {
  let runtime: Runtime;
  let model: Model;
  const greedy = { temperature: 0, maxTokens: 6, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
  const prompt = [5, 9, 31, 17, 8];
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [] });
    model = await loadModel(familyModel(withVocabulary(readFamilyGolden(name))), { runtime, cacheType: "f32", sequences: 2 });
  });
  afterAll(async () => {
    await model.dispose();
    await runtime.dispose();
  });

  test("the next turn goes on from the state, with the tokens of a fresh computation", async () => {
    const session = model.createSession();
    const first = await session.complete({ ids: prompt }, greedy);
    const longer = [...prompt, ...first.ids, 21, 4];
    const second = await session.complete({ ids: longer }, greedy);
    expect(second.usage.cachedTokens).toBe(longer.length - 3);
    const fresh = await model.createSession().complete({ ids: [...longer] }, greedy);
    expect(second.ids).toEqual(fresh.ids);
  });

  test("a text that differs is computed from its start, and two at a time do not meet", async () => {
    const [one, two] = [model.createSession(), model.createSession()];
    const [a, b] = [
      [...prompt, 3, 3, 3],
      [...prompt.slice(0, 3), 12, 13],
    ];
    const alone = [await one.complete({ ids: a }, greedy), await one.complete({ ids: b }, greedy)];
    expect(alone[1]!.usage.cachedTokens).toBe(0);
    const together = await Promise.all([one.complete({ ids: a }, greedy), two.complete({ ids: b }, greedy)]);
    expect(together.map(({ ids }) => ids)).toEqual(alone.map(({ ids }) => ids));
  });

  test("what would need a state from before is refused in words", async () => {
    const session = model.createSession();
    await expect(session.complete({ ids: prompt }, { ...greedy, promptLookup: 2 })).rejects.toThrow(UnsupportedError);
    await expect(session.save()).rejects.toThrow(/session\.save: unsupported: states of recurrent models/);
  });
});
