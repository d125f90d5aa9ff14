import { fileURLToPath } from "node:url";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, DisposedError, type Runtime, reference, UnsupportedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GenerateOptions, type GenerationFinish, loadModel, type Model } from "../src/index.ts";
import { type FamilyGolden, familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { tiny, withMetadata } from "./modelFiles.ts";

const fable = fileURLToPath(new URL("../../model-fable/models/fable-q4_k_m.gguf", import.meta.url));
/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];
const greedy = { temperature: 0, repeatPenalty: 1, seed: 1 } as const;

/** What a generation gives, without what drafts and earlier texts may change. */
function outcome({ timings: _, usage: { draftedTokens, acceptedTokens, cachedTokens, ...usage }, ...finish }: GenerationFinish) {
  return { ...finish, usage };
}

const fields = { animal: { enum: ["fox", "owl"] }, old: { type: "boolean" }, name: { type: "string", maxLength: 12 } };
const schema = { type: "object", properties: fields, required: Object.keys(fields), additionalProperties: false };

const cases: readonly (readonly [title: string, options: GenerateOptions])[] = [
  ["the greatest logits", greedy],
  ["draws", { temperature: 0.8, repeatPenalty: 1, seed: 3 }],
  ["draws of the host", { temperature: 0.8, repeatPenalty: 1.2, logitBias: { 300: 1 }, seed: 4 }],
  ["Mirostat", { temperature: 0.8, mirostat: 2, mirostatTau: 3, seed: 5 }],
  ["log probabilities", { ...greedy, logprobs: 2 }],
  ["a stop string", { ...greedy, stop: [" and"] }],
  ["a format", { temperature: 0.5, repeatPenalty: 1, format: { schema }, seed: 6 }],
  ["a format on the host", { temperature: 0.5, format: { schema }, seed: 7 }],
  ["prompt lookup", { ...greedy, promptLookup: 4 }],
  ["a context that is shifted", { ...greedy, maxTokens: 110, overflow: { generation: "shift", keep: 8 } }],
];

/** Generates without drafts and with them, and returns the latter. */
async function compare(model: Model, options: GenerateOptions, ids: readonly number[] = once): Promise<GenerationFinish> {
  const complete = (more: GenerateOptions) => model.createSession().complete({ ids }, { maxTokens: 40, ...options, ...more });
  const plain = await complete({ draftTokens: 0, promptLookup: 0, jumpForward: false });
  const drafted = await complete({});
  expect(outcome(drafted)).toEqual(outcome(plain));
  expect(plain.usage).toMatchObject({ draftedTokens: 0, acceptedTokens: 0 });
  return drafted;
}

async function withWasm(use: (runtime: Runtime) => Promise<void>): Promise<void> {
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await use(runtime);
}

test.each([
  ["that the device chooses", 1, 0],
  ["that the device chooses ahead", 4, 0],
  ["that the host chooses", 1, 0.2],
] as const)("drafts %s do not change texts that share runs", async (_title, runsInFlight, minProbability) => {
  await withWasm(async (runtime) => {
    const draft = { source: tiny, tokens: 4, minProbability };
    await using model = await loadModel(fable, { runtime, contextLength: 96, sequences: 4, runsInFlight, draft });
    const finishes = await Promise.all(cases.map(([, options]) => compare(model, options)));
    for (const { usage } of finishes) {
      expect(usage.acceptedTokens).toBeGreaterThan(0);
      expect(usage.draftedTokens).toBeGreaterThan(usage.acceptedTokens);
    }
  });
});

describe("with a draft model", () => {
  let runtime: Runtime;
  let model: Model;
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
    model = await loadModel(fable, { runtime, contextLength: 96, draft: { source: tiny } });
  });
  afterAll(async () => {
    await model.dispose();
    await runtime.dispose();
  });
  const question = [{ role: "user", content: "Tell me a story about a fox." }] as const;

  test.each(cases)("the text is the same as without: %s", async (_case, options) => {
    await compare(model, options);
  });

  test("conversations go on, fork and are restored as without", async () => {
    const converse = async (more: GenerateOptions): Promise<readonly unknown[]> => {
      const options = { ...greedy, maxTokens: 16, ...more };
      using session = model.createSession();
      const first = await session.complete(question, options);
      using fork = session.fork();
      using restored = await model.restoreSession(await session.save());
      const finishes = [first];
      for (const each of [session, fork, restored]) finishes.push(await each.complete("And then?", options));
      session.truncate(2);
      finishes.push(await session.complete("Who?", options));
      return finishes.map(({ text }) => text);
    };
    expect(await converse({})).toEqual(await converse({ draftTokens: 0 }));
  });

  test("a text that was aborted goes on from any place", async () => {
    const { ids } = await model.createSession().complete({ ids: once }, { ...greedy, maxTokens: 40, draftTokens: 0 });
    for (const count of [1, 4, 9]) {
      using session = model.createSession();
      const controller = new AbortController();
      let generated = 0;
      const read = async (): Promise<void> => {
        for await (const part of session.generate({ ids: once }, { ...greedy, signal: controller.signal })) {
          if (part.type === "text") generated += part.ids.length;
          if (generated >= count) controller.abort(new Error("enough"));
        }
      };
      await expect(read()).rejects.toThrow("enough");
      const rest = await session.complete({ ids: [...once, ...ids.slice(0, count)] }, { ...greedy, maxTokens: 20 });
      expect(rest.ids).toEqual(ids.slice(count, count + 20));
    }
  });

  test("drafts have as many tokens as a generation asks for", async () => {
    const { usage: one } = await compare(model, { ...greedy, draftTokens: 1 });
    const { usage: six } = await compare(model, { ...greedy, draftTokens: 6 });
    expect(six.acceptedTokens).toBeGreaterThan(one.acceptedTokens);
  });

  test("its information and its options", async () => {
    const { draft, memory } = model.info;
    expect(draft).toMatchObject({ architecture: "llama", contextLength: 96, sequences: 1, quantization: "Q8_0" });
    expect(memory.weights).toBeGreaterThan(draft!.memory.weights);
    await withWasm(async (other) => {
      await using plain = await loadModel(tiny, { runtime: other });
      expect(plain.info.draft).toBeUndefined();
      const run = plain.createSession().complete({ ids: once }, { draftTokens: 2, maxTokens: 1 });
      await expect(run).rejects.toThrow("draftTokens: unsupported: the model has no draft model; load it with the option draft");
      await expect(run).rejects.toThrow(UnsupportedError);
      expect((await plain.createSession().complete({ ids: once }, { draftTokens: 0, maxTokens: 1 })).ids).toHaveLength(1);
    });
  });
});

test("disposing of a model ends its drafts and frees the draft model", async () => {
  await withWasm(async (runtime) => {
    const used = () => runtime.backends.find(({ name }) => name === "wasm")!.memory();
    const before = used();
    const model = await loadModel(fable, { runtime, contextLength: 64, draft: { source: tiny } });
    expect(used().persistents).toBeGreaterThan(before.persistents);
    const run = model.createSession().complete({ ids: once }, { ...greedy, maxTokens: 50 });
    const failed = expect(run).rejects.toThrow(DisposedError);
    await model.dispose();
    await failed;
    expect(used().persistents).toBe(before.persistents);
  });
});

test("the draft model can be on another runtime, and see less of a text", async () => {
  await withWasm(async (runtime) => {
    await using other = await createRuntime({ backends: [reference()] });
    const source = await withMetadata(tiny, [{ key: "llama.context_length", type: "u32", value: 14 }]);
    await using model = await loadModel(tiny, { runtime, contextLength: 64, draft: { source, runtime: other } });
    expect(model.info).toMatchObject({ backend: "wasm", draft: { backend: "reference", contextLength: 14 } });
    const { usage } = await compare(model, { ...greedy, maxTokens: 20 });
    expect(usage.acceptedTokens).toBeGreaterThan(3);
    expect(usage.draftedTokens).toBeLessThan(12);
  });
});

const mamba = familyModel(withVocabulary(readFamilyGolden("mamba2"), "gpt2"));
const hybrid = familyModel(withVocabulary(readFamilyGolden("jamba"), "gpt2"));
const dense = familyModel(withVocabulary(readFamilyGolden("olmoe"), "gpt2"));

test.each([
  ["recurrent, drafted by an attentive one", mamba, dense],
  ["recurrent, drafted by itself", mamba, mamba],
  ["attentive, drafted by a recurrent one", dense, mamba],
  ["hybrid, drafted by another hybrid", hybrid, hybrid],
] as const)("a model that is %s", async (_title, source, draft) => {
  await withWasm(async (runtime) => {
    await using model = await loadModel(source, { runtime, cacheType: "f32", sequences: 2, draft: { source: draft } });
    const options: GenerateOptions = { temperature: 0.2, topK: 0, minP: 0, topP: 1, maxTokens: 24, ignoreEos: true };
    const drafts = await Promise.all([1, 2, 3, 4].map((seed) => compare(model, { ...options, seed }, [3, 5, seed])));
    expect(drafts.reduce((sum, { usage }) => sum + usage.acceptedTokens, 0)).toBeGreaterThan(0);
    if (source !== draft) expect(drafts.some(({ usage }) => usage.draftedTokens > usage.acceptedTokens)).toBe(true);
  });
});

test.each([8, -8])("a model with a vocabulary of %s padding tokens more than its draft model's", async (more) => {
  const small = withVocabulary(readFamilyGolden("olmoe"), "gpt2");
  const padded: FamilyGolden = {
    ...small,
    metadata: small.metadata.map(([key, type, value]): FamilyGolden["metadata"][number] => {
      if (key === "tokenizer.ggml.tokens")
        return [key, type, [...(value as string[]), ...Array.from({ length: 8 }, (_, i) => `<pad ${i}>`)]];
      const isTable = key === "tokenizer.ggml.scores" || key === "tokenizer.ggml.token_type";
      return isTable ? [key, type, [...(value as number[]), ...Array.from({ length: 8 }, () => 1)]] : [key, type, value];
    }),
    tensors: Object.fromEntries(
      Object.entries(small.tensors).map(([name, [rows, ...rest]]) => [name, rows === 40 ? [48, ...rest] : [rows!, ...rest]]),
    ),
  };
  const [source, draft] = (more > 0 ? [padded, small] : [small, padded]).map(familyModel) as [Uint8Array, Uint8Array];
  await withWasm(async (runtime) => {
    await using model = await loadModel(source, { runtime, cacheType: "f32", draft: { source: draft } });
    expect(model.info.vocabSize - model.info.draft!.vocabSize).toBe(more);
    const options: GenerateOptions = { temperature: 2, topK: 0, minP: 0, topP: 1, maxTokens: 20, ignoreEos: true };
    const ids: number[] = [];
    for (const seed of [1, 2, 3, 4]) {
      const finish = await compare(model, { ...options, seed, logitBias: seed > 2 ? { [model.info.vocabSize - 1]: 1 } : {} }, [3, 5]);
      ids.push(...finish.ids);
      expect(finish.usage.draftedTokens).toBeGreaterThan(0);
    }
    expect(ids.some((id) => id >= 40)).toBe(more > 0);
  });
});

test("draws have the model's probabilities", async () => {
  await withWasm(async (runtime) => {
    const draws = 800;
    const sampling = { temperature: 0.3, topK: 0, topP: 1, minP: 0 };
    await using model = await loadModel(dense, {
      runtime,
      cacheType: "f32",
      sequences: 16,
      queue: { max: draws },
      draft: { source: mamba, tokens: 2 },
    });
    const prompt = [3, 5];
    const distribution = async (ids: readonly number[]): Promise<readonly number[]> => {
      const logits = (await model.logits(ids)).slice(-model.info.vocabSize);
      const greatest = Math.max(...logits);
      const weights = Array.from(logits, (logit) => Math.exp((logit - greatest) / sampling.temperature));
      const sum = weights.reduce((a, b) => a + b);
      return weights.map((weight) => weight / sum);
    };
    // The third token, which most texts take from a draft.
    const expected = new Float64Array(model.info.vocabSize);
    for (const [a, pa] of (await distribution(prompt)).entries())
      for (const [b, pb] of (await distribution([...prompt, a])).entries())
        if (pa * pb > 1e-6) for (const [c, pc] of (await distribution([...prompt, a, b])).entries()) expected[c]! += pa * pb * pc;
    const counts = new Float64Array(expected.length);
    let accepted = 0;
    await Promise.all(
      Array.from({ length: draws }, async (_, seed) => {
        const { ids, usage } = await model.createSession().complete({ ids: prompt }, { ...sampling, seed, maxTokens: 3, ignoreEos: true });
        counts[ids[2]!]!++;
        accepted += usage.acceptedTokens;
      }),
    );
    expect(accepted).toBeGreaterThan(draws / 10);
    // Pearson's test, with the tokens that are expected fewer than 5 times as one.
    const [common, rare]: [number[], number[]] = [[], []];
    for (const [id, p] of expected.entries()) (p * draws >= 5 ? common : rare).push(id);
    const total = (of: Float64Array, ids: readonly number[]): number => ids.reduce((sum, id) => sum + of[id]!, 0);
    const cells = [...common.map((id) => [id]), rare];
    const chiSquared = cells.reduce((sum, ids) => {
      const mean = draws * total(expected, ids);
      return sum + (total(counts, ids) - mean) ** 2 / mean;
    }, 0);
    expect(cells.length).toBeGreaterThan(8);
    expect(chiSquared).toBeLessThan(3 * cells.length);
  });
});
