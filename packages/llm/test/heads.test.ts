import { wasm } from "@centella/backend-wasm";
import { createRuntime, type RuntimeOptions, UnsupportedError } from "@centella/core";
import { describe, expect, test } from "vitest";
import { type DraftOptions, type GenerateOptions, loadModel, ModelError } from "../src/index.ts";
import { type FamilyGolden, familyModel, floats, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { headError, knownError, openPair, predictsAtOnce } from "./headError.ts";
import { type HeadGolden, headGoldens, headModel, readHeadGolden } from "./headFixture.ts";
import { expectOwnTexts } from "./ownTexts.ts";

type Entry = FamilyGolden["metadata"][number];

const onBackends = headGoldens.flatMap((name) => [[name, "reference"] as const, [name, "wasm"] as const]);

test.each(onBackends)("%s on %s: the head predicts what llama.cpp's does", async (name, backend) => {
  const on: RuntimeOptions = backend === "wasm" ? { backends: [wasm({ threads: 1 })], policy: { force: "wasm" } } : { backends: [] };
  expect(await headError(readHeadGolden(name), on)).toBeLessThan(1e-4);
});

test.each(headGoldens)("%s: after a draft that was rejected, the head reads the model's states again", async (name) => {
  const golden = readHeadGolden(name);
  const { ids, drafted } = golden;
  await using opened = await openPair(golden, { batchSize: 7 });
  const early = await opened.read(ids.slice(0, 12));
  if (predictsAtOnce(golden)) {
    await early("all");
    const { logits } = await (await opened.read(ids))("all");
    expect(knownError(logits, floats(golden.logits))).toBeLessThan(1e-4);
    return;
  }
  await early("last", [3, 14, 15, 9]);
  const feed = await opened.read(ids);
  const { logits, tokens } = await feed("last", drafted);
  // An assistant computes the newest token alone.
  expect(tokens).toBe(floats(golden.logits).length > opened.vocabSize ? ids.length - 12 : 1);
  const expected = Float32Array.from([...floats(golden.logits).slice(-opened.vocabSize), ...floats(golden.draftedLogits)]);
  expect(knownError(logits, expected)).toBeLessThan(1e-4);
});

/** A model and its head, with a vocabulary. */
function pair(name: string) {
  const golden = readHeadGolden(name);
  return { target: withVocabulary(golden.target), head: withVocabulary(golden) };
}

const greedy = { temperature: 0, maxTokens: 12, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
const prompt = [5, 9, 31, 17, 8, 22, 35, 14, 27];

test.each(headGoldens)("%s: texts are the same as without drafts", async (name) => {
  const { target, head } = pair(name);
  await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  const load = (draft?: DraftOptions) =>
    loadModel(familyModel(target), { runtime, cacheType: "f32", sequences: 2, ...(draft && { draft }) });
  await using plain = await load();
  await using model = await load({ source: headModel(head), tokens: 3 });
  expect(model.info.draft).toMatchObject({ architecture: head.metadata[0]![2], backend: "wasm", isVerified: true, warnings: [] });
  const options: readonly GenerateOptions[] = [greedy, { ...greedy, temperature: 0.8, seed: 3 }, { ...greedy, logprobs: 1 }];
  for (const each of options) {
    const texts = [prompt, [...prompt.slice(0, 4), 3, 4]];
    const complete = (of: typeof model) => Promise.all(texts.map((ids) => of.createSession().complete({ ids }, each)));
    const [expected, drafted] = [await complete(plain), await complete(model)];
    expect(drafted.map(({ ids }) => ids)).toEqual(expected.map(({ ids }) => ids));
    for (const { usage } of drafted) expect(usage.draftedTokens).toBeGreaterThan(0);
  }
  await expectOwnTexts(() => load({ source: headModel(head), tokens: 2 }));
});

test("drafts of a block are cut before tokens that are unlikely, do not match the format, or have no room", async () => {
  const { target, head } = pair("dspark");
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  const load = (draft?: DraftOptions) =>
    loadModel(familyModel(target), { runtime, cacheType: "f32", contextLength: 32, ...(draft && { draft }) });
  await using plain = await load();
  const drafted = async (draft: DraftOptions, options: GenerateOptions) => {
    await using model = await load({ source: headModel(head), ...draft });
    const [expected, got] = [plain, model].map((each) => each.createSession().complete({ ids: prompt }, { ...greedy, ...options }));
    expect((await got!).ids).toEqual((await expected!).ids);
    return (await got!).usage.draftedTokens;
  };
  expect(await drafted({ minProbability: 1 }, {})).toBe(0);
  expect(await drafted({ minProbability: 0.01 }, {})).toBeGreaterThan(0);
  expect(await drafted({ tokens: 100 }, { maxTokens: 30 })).toBeGreaterThan(0);
  const matching = await drafted({}, { format: { regex: "( [a-m][0-9]+)+" }, jumpForward: false });
  expect(matching).toBeGreaterThan(0);
});

describe("before weights are read, a head is refused", () => {
  const { target, head } = pair("eagle3");
  /** A head with other metadata, of keys without the architecture's name, and without some tensors. */
  const changed = (
    values: Readonly<Record<string, readonly [type: string, value: Entry[2]]>>,
    without: readonly string[] = [],
    of: Pick<HeadGolden, "metadata" | "tensors"> = head,
  ): Uint8Array => {
    const [, , architecture] = of.metadata[0]!;
    const entries = Object.entries(values).map(
      ([key, [type, value]]): Entry => [key.includes(".ggml.") ? key : `${String(architecture)}.${key}`, type, value],
    );
    const kept = of.metadata.filter(([key]) => !without.includes(key) && entries.every(([other]) => other !== key));
    const tensors = Object.fromEntries(Object.entries(of.tensors).filter(([name]) => !without.includes(name)));
    return headModel({ metadata: [...kept, ...entries], tensors });
  };
  async function refusal(source: Uint8Array, model: Pick<FamilyGolden, "metadata" | "tensors"> = target, more: Partial<DraftOptions> = {}) {
    await using runtime = await createRuntime({ backends: [] });
    let reports = 0;
    const loading = loadModel(familyModel(model), { runtime, draft: { source, ...more }, onProgress: () => void reports++ });
    const error = await loading.catch((caught: unknown) => caught);
    expect(reports).toBe(0);
    return error as Error;
  }
  const tokens = [...(head.metadata.find(([key]) => key === "tokenizer.ggml.tokens")![2] as readonly string[])];

  test.each([
    ["three layers", changed({ target_layers: ["u32[]", [1, 2]] }), "expected 3 layers in eagle3.target_layers, got 2"],
    [
      "layers of the model",
      changed({ target_layers: ["u32[]", [1, 2, 5]] }),
      "expected layers from 0 to 4 in eagle3.target_layers, which the model has, got 1, 2, 5",
    ],
    [
      "named layers",
      changed({ target_layers: ["u32[]", []] }),
      "expected layers from 0 to 4 in eagle3.target_layers, which the model has, got none",
    ],
    [
      "the model's width",
      changed({ target_hidden_size: ["u32", 24] }),
      "expected 32 for eagle3.target_hidden_size, as in the model, got 24",
    ],
    ["one block", changed({ block_count: ["u32", 2] }), "expected 1 block in eagle3.block_count, got 2"],
    ["all tensors", changed({}, ["blk.0.attn_q.weight"]), "draft: expected these tensors, got none of them (blk.0.attn_q.weight"],
    ["features to fuse", changed({}, ["fc.weight"]), "draft: expected these tensors, got none of them (fc.weight"],
    [
      "the same texts",
      changed({ "tokenizer.ggml.tokens": ["strings", tokens.with(7, "zz")] }),
      "in tokenizer.ggml.tokens[7], as in the model",
    ],
    [
      "as many tokens",
      changed({ "tokenizer.ggml.tokens": ["strings", tokens.slice(0, -1)] }),
      "expected 40 entries in tokenizer.ggml.tokens, as in the model, got 39",
    ],
  ])("without %s", async (_title, source, message) => {
    const error = await refusal(source);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain(message);
  });

  test("with another architecture, another width, and other keys than the model's, for an assistant", async () => {
    const { target: gemma, head: assistant } = pair("gemma4-assistant");
    const withSize = (name: string, value: number): Uint8Array => {
      const key = `gemma4-assistant.${name}`;
      return headModel({ ...assistant, metadata: [...assistant.metadata.filter(([other]) => other !== key), [key, "u32", value]] });
    };
    const error = await refusal(headModel(assistant));
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain("an assistant of gemma4 does not draft for models of llama");
    const message = async (name: string, value: number) => (await refusal(withSize(name, value), gemma)).message;
    expect(await message("embedding_length_out", 24)).toContain(
      "expected 32 for gemma4-assistant.embedding_length_out, as in the model, got 24",
    );
    expect(await message("attention.key_length_swa", 8)).toContain(
      "expected 6 for gemma4-assistant.attention.key_length_swa, as in the model, got 8",
    );
  });

  const { head: block } = pair("dflash");
  const withTensor = (name: string) => headModel({ ...block, tensors: { ...block.tensors, [name]: [40, 6] } });
  test.each([
    ["a mask token", changed({}, ["tokenizer.ggml.mask_token_id"], block), "expected the key tokenizer.ggml.mask_token_id, got none"],
    ["a token of the vocabulary", changed({ "tokenizer.ggml.mask_token_id": ["u32", 40] }, [], block), "got 40"],
    ["room for a masked token", changed({ block_size: ["u32", 1] }, [], block), "expected at least 2 tokens in dflash.block_size, got 1"],
    [
      "the model's width",
      changed({ embedding_length: ["u32", 24] }, [], block),
      "expected 32 for dflash.embedding_length, as in the model",
    ],
    ["keys", changed({}, ["dflash.feed_forward_length"], block), "dflash.feed_forward_length"],
    ["layers of the model", changed({ target_layers: ["u32[]", [0, 9]] }, [], block), "in dflash.target_layers, which the model has"],
    [
      "all tensors of a block",
      changed({}, ["blk.1.attn_k.weight"], block),
      "expected these tensors, got none of them (blk.1.attn_k.weight",
    ],
    [
      "only known tensors",
      withTensor("blk.0.attn_conv_base"),
      "expected only tensors that the architecture knows, got (blk.0.attn_conv_base)",
    ],
  ])("without %s, for a head of blocks", async (_title, source, message) => {
    const error = await refusal(source);
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain(message);
  });

  test.each([
    ["selector_hidden.weight", withTensor("selector_hidden.weight")],
    ["dflash.hyper_connection.count", changed({ "hyper_connection.count": ["u32", 4] }, [], block)],
    ["dflash.hidden_activation relu", changed({ hidden_activation: ["string", "relu"] }, [], block)],
  ])("with %s, which is not computed", async (name, source) => {
    const error = await refusal(source);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain(name);
  });

  test("with a table of the model's that is of another width, for a family whose layers it cannot read, and on another runtime", async () => {
    const { target: wide, head: narrow } = pair("eagle3-vocabulary");
    const { "token_embd.weight": _, ...tensors } = narrow.tensors;
    expect((await refusal(headModel({ ...narrow, tensors }), wide)).message).toContain(
      "expected 32 for eagle3.embedding_length, as in the model, got 24",
    );
    const other = withVocabulary(readFamilyGolden("falcon-h1"));
    const error = await refusal(changed({ target_layers: ["u32[]", [0, 1, 1]] }), other);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain("models of falcon-h1 do not keep the states");
    await using elsewhere = await createRuntime({ backends: [] });
    expect((await refusal(headModel(head), target, { runtime: elsewhere })).message).toContain(
      "expected the model's runtime for a draft of the architecture eagle3",
    );
  });
});
