import { wasm } from "@centella/backend-wasm";
import { ArgumentError, createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DraftOptions, loadModel, ModelError, TokenizerError } from "../src/index.ts";
import { contextsToTry } from "../src/load/contextSize.ts";
import { type FamilyGolden, familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

type Value = FamilyGolden["metadata"][number][2];

const golden = withVocabulary(readFamilyGolden("olmoe"), "gpt2");

/** The model with other values in its metadata. */
function changed(values: Readonly<Record<string, readonly [type: string, value: Value]>>, of: FamilyGolden = golden): Uint8Array {
  const kept = of.metadata.filter(([key]) => !Object.hasOwn(values, key));
  return familyModel({ ...of, metadata: [...kept, ...Object.entries(values).map(([key, [type, value]]) => [key, type, value] as const)] });
}

const tokensKey = "tokenizer.ggml.tokens";
const texts = golden.metadata.find(([key]) => key === tokensKey)![2] as readonly string[];

let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
});
afterAll(() => runtime.dispose());

/** Loads a model with a draft model, and returns how often the loading of weights was reported. */
async function load(source: Uint8Array, draft: DraftOptions): Promise<number> {
  let reports = 0;
  const onProgress = () => void reports++;
  try {
    await using model = await loadModel(source, { runtime, draft, onProgress });
    await model.createSession().complete({ ids: [3] }, { maxTokens: 4, ignoreEos: true });
  } catch (error) {
    expect(reports).toBe(0);
    throw error;
  }
  return reports;
}

const model = familyModel(golden);
const use = "use a draft model with the model's vocabulary";

describe("before weights are read, a draft model is refused", () => {
  test.each([
    [
      "another kind",
      familyModel(withVocabulary(readFamilyGolden("olmoe"), "llama")),
      `"gpt2" in tokenizer.ggml.model, as in the model, got "llama"`,
    ],
    [
      "BOS of its own",
      changed({ "tokenizer.ggml.add_bos_token": ["bool", true] }),
      "false in tokenizer.ggml.add_bos_token, as in the model, got true",
    ],
    [
      "EOS of its own",
      changed({ "tokenizer.ggml.add_eos_token": ["bool", true] }),
      "false in tokenizer.ggml.add_eos_token, as in the model, got true",
    ],
    [
      "another text",
      changed({ [tokensKey]: ["strings", texts.with(7, "zz")] }),
      `${JSON.stringify(texts[7])} in tokenizer.ggml.tokens[7], as in the model, got "zz"`,
    ],
  ])("with %s", async (_title, source, difference) => {
    const loading = load(model, { source });
    await expect(loading).rejects.toThrow(ModelError);
    await expect(loading).rejects.toThrow(`draft: expected ${difference}; ${use}`);
  });

  test("with another BOS", async () => {
    const withBos = (id: number) => changed({ "tokenizer.ggml.add_bos_token": ["bool", true], "tokenizer.ggml.bos_token_id": ["u32", id] });
    await expect(load(withBos(1), { source: withBos(3) })).rejects.toThrow(
      "expected 1 in tokenizer.ggml.bos_token_id, as in the model, got 3",
    );
  });

  test("with many more tokens, without a tokenizer, as an encoder, and with wrong options", async () => {
    const many = [...texts, ...Array.from({ length: 129 }, (_, i) => `more${i}`)];
    const types = ["i32[]", many.map((_, i) => (i < 3 ? 3 : 1))] as const;
    const source = changed({
      [tokensKey]: ["strings", many],
      "tokenizer.ggml.token_type": types,
      "tokenizer.ggml.scores": ["f32[]", many.map(() => 0)],
    });
    await expect(load(model, { source })).rejects.toThrow(
      `draft: expected ${texts.length} entries in tokenizer.ggml.tokens, as in the model, give or take 128, got ${many.length}; ${use}`,
    );
    const bare = familyModel({ ...golden, metadata: golden.metadata.filter(([key]) => !key.startsWith("tokenizer.")) });
    await expect(load(model, { source: bare })).rejects.toThrow(TokenizerError);
    await expect(load(model, { source: bare })).rejects.toThrow(/^draft: tokenizer: expected/);
    const encoder = familyModel(withVocabulary(readFamilyGolden("eurobert"), "gpt2"));
    await expect(load(model, { source: encoder })).rejects.toThrow(UnsupportedError);
    const decoder = familyModel(withVocabulary(readFamilyGolden("t5"), "t5"));
    await expect(load(decoder, { source: decoder })).rejects.toThrow("draft: unsupported: models of t5 do not continue a text");
    await expect(load(encoder, { source: model })).rejects.toThrow("draft: unsupported: models of eurobert do not continue a text");
    for (const wrong of [{ tokens: 0 }, { minProbability: 2 }, { runtime: {} }, { source: 7 }, { token: 3 }]) {
      await expect(load(model, { source: model, ...wrong } as unknown as DraftOptions)).rejects.toThrow(ArgumentError);
    }
    await expect(load(model, {})).rejects.toThrow(
      "draft without a source: unsupported: the file has no block that predicts further tokens",
    );
  });
});

test("vocabularies may differ in special tokens and in padding", async () => {
  const names = texts.map((text, id) => (id < 5 ? `<special ${id}>` : text));
  expect(await load(model, { source: changed({ [tokensKey]: ["strings", names] }) })).toBeGreaterThan(0);
});

test("progress counts the bytes of both models", async () => {
  const reports: (readonly [number, number])[] = [];
  const onProgress = (done: number, total: number): void => void reports.push([done, total]);
  await using loaded = await loadModel(model, { runtime, draft: { source: model }, onProgress });
  const total = loaded.info.memory.weights + loaded.info.draft!.memory.weights;
  expect(reports.at(-1)).toEqual([total, total]);
  expect(reports.every(([done, all], i) => all === total && done >= (reports[i - 1]?.[0] ?? 0))).toBe(true);
});

test("if the draft model's weights cannot be read, the model is freed", async () => {
  const used = (): number => runtime.backends.find(({ name }) => name === "wasm")!.memory().persistents;
  const before = used();
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    if (offset + length === model.length) throw new Error("the disk is gone");
    return model.slice(offset, offset + length);
  };
  await expect(loadModel(model, { runtime, draft: { source: { size: model.length, read } } })).rejects.toThrow("the disk is gone");
  expect(used()).toBe(before);
});

test('the context "auto" leaves room for a draft model', async () => {
  const config = {
    vocabSize: 100,
    embeddingLength: 64,
    contextLength: 8192,
    layers: 1,
    headsOf: () => ({ heads: 1, kvHeads: 1, keyLength: 64, valueLength: 64 }),
    isEncoder: false,
    hasCache: () => true,
    states: [],
  };
  const request = { wanted: "auto", config, sequences: 1, cacheType: "f16", weightBytes: 1000, memoryLimit: 2 ** 20 } as const;
  const bytesPerToken = 256;
  const [alone] = await contextsToTry(request);
  expect(alone!.contextLength).toBe(Math.floor((2 ** 20 - 1000) / bytesPerToken / 32) * 32);
  const [beside] = await contextsToTry({ ...request, reserved: (length) => 50_000 + bytesPerToken * length });
  expect(beside!.contextLength).toBe(Math.floor((2 ** 20 - 51_000) / (2 * bytesPerToken) / 32) * 32);
});
