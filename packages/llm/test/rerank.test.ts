import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel, type Model } from "../src/index.ts";
import { packTexts } from "../src/model/packTexts.ts";
import { pairPrompt } from "../src/model/rankPrompt.ts";
import { type FamilyGolden, familyGoldens, familyModel, readFamilyGolden } from "./familyFixture.ts";

const rankers = familyGoldens.filter((name) => readFamilyGolden(name).ranked !== undefined);

type Entry = FamilyGolden["metadata"][number];

/** The golden's model with other metadata. */
function withEntries(golden: FamilyGolden, ...entries: readonly Entry[]): FamilyGolden {
  const keys = new Set(entries.map(([key]) => key));
  return { ...golden, metadata: [...golden.metadata.filter(([key]) => !keys.has(key)), ...entries] };
}

describe.each(["reference", "wasm"] as const)("rerankers on %s score as llama.cpp does", (backend) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  });
  afterAll(() => runtime.dispose());

  test.each(rankers)("%s", async (name) => {
    const golden = readFamilyGolden(name);
    const { query, documents, ids, scores } = golden.ranked!;
    await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32" });
    const { results, usage } = await model.rerank(query, documents);
    expect(usage.promptTokens).toBe(ids.flat().length);
    expect(results.map(({ score }) => score)).toEqual(results.map(({ score }) => score).toSorted((a, b) => b - a));
    for (const { index, score } of results) expect(Math.abs(score - scores[index]!), documents[index]!).toBeLessThan(1e-4);
    expect(results.map(({ index }) => index).toSorted()).toEqual(documents.map((_, index) => index));
    expect((await model.rerank(query, documents, { topN: 2 })).results).toEqual(results.slice(0, 2));
    // More documents than a run of the head takes, one of them alone, and two calls at a time.
    const [many, [last]] = await Promise.all([
      model.rerank(
        query,
        Array.from({ length: 70 }, (_, i) => documents[i % documents.length]!),
      ),
      model.rerank(query, [documents.at(-1)!]).then((alone) => alone.results),
    ]);
    expect(many.results).toHaveLength(70);
    expect(last!.score).toBe(results.find(({ index }) => index === documents.length - 1)!.score);
    expect(many.results.find(({ index }) => index === 69)!.score).toBe(results.find(({ index }) => index === 69 % documents.length)!.score);
  });
});

describe("rerank", () => {
  const golden = readFamilyGolden("bert-rank");
  const { query, documents, scores } = golden.ranked!;
  let runtime: Runtime;
  const load = (from: FamilyGolden): Promise<Model> => loadModel(familyModel(from), { runtime });
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [] });
  });
  afterAll(() => runtime.dispose());

  /** Runs of plans that a call takes. */
  async function runsOf(call: () => Promise<unknown>): Promise<number> {
    const before = runtime.counters.reference!.submits;
    await call();
    return runtime.counters.reference!.submits - before;
  }

  test("short documents share a run, in the cache of one sequence", async () => {
    await using model = await load(golden);
    expect(model.info.sequences).toBe(1);
    // 40 tokens in blocks of 32, of which the context has two; the last run is the head's.
    expect(await runsOf(() => model.rerank(query, documents))).toBe(3 + 1);
    expect(await runsOf(() => model.rerank(query, documents.slice(0, 2)))).toBe(1 + 1);
    expect(await runsOf(() => model.embed(["w1", "w2"], { pooling: "cls" }))).toBe(1);
  });

  test("what precedes the documents is computed once", async () => {
    const qwen3 = readFamilyGolden("qwen3-rank");
    const { query, documents, ids } = qwen3.ranked!;
    expect(ids.map(({ length }) => length)).toEqual([65, 64, 59, 81]);
    await using model = await loadModel(familyModel(qwen3), { runtime, batchSize: 40 });
    // All pairs begin with a block of 32 tokens. The longest takes three runs, and each of the others would take two.
    expect(await runsOf(() => model.rerank(query, documents))).toBe(3 + 1 + 1 + 1 + 1);
  });

  test("a head with one label ranks even if the file states another pooling", async () => {
    await using model = await load(withEntries(golden, ["bert.pooling_type", "u32", 2]));
    const { results } = await model.rerank(query, documents);
    for (const { index, score } of results) expect(score).toBeCloseTo(scores[index]!, 4);
  });

  test("models that do not rank are refused", async () => {
    await using plain = await load(readFamilyGolden("bert"));
    await expect(plain.rerank("w1", ["w2"])).rejects.toThrow(/rerank: unsupported: the file has no classification head.*model\.embed\(\)/);
    const labels = readFamilyGolden("bert-rank-output");
    await using classifier = await load(withEntries(labels, ["bert.pooling_type", "u32", 2]));
    await expect(classifier.rerank("w1", ["w2"])).rejects.toThrow(/rerank: unsupported: the file classifies texts by 3 labels/);
    await using broken = await load({ ...golden, tensors: { ...golden.tensors, "cls.bias": [31] } });
    await expect(broken.rerank("w1", ["w2"])).rejects.toThrow(/cls\.bias \[31\] instead of \[32\]/);
  });

  test("wrong arguments are refused", async () => {
    await using model = await load(golden);
    await expect(model.rerank(query, [])).rejects.toThrow(/rerank: expected at least one document, got none/);
    await expect(model.rerank(query, "w1" as never)).rejects.toThrow(/rerank: expected a list of documents, each a string, got "w1"/);
    await expect(model.rerank(7 as never, ["w1"])).rejects.toThrow(/rerank: expected query to be a string, got 7/);
    await expect(model.rerank(query, ["w1"], { topN: 0 })).rejects.toThrow(/topN to be a whole number/);
    const long = Array.from({ length: 61 }, () => "w1").join(" ");
    await expect(model.rerank(query, ["w1", long])).rejects.toMatchObject({
      code: "contextOverflow",
      promptTokens: 65,
      contextLength: 64,
      message: expect.stringMatching(/^documents\[1\] with the query: expected at most 64 tokens in a context of 64, got 65;/),
    });
    await expect(model.rerank(query, ["w1"], { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  });

  test("a reranker embeds only with a pooling that the caller names", async () => {
    await using model = await load(golden);
    await expect(model.embed(["w1"])).rejects.toThrow(/embed: unsupported: the model is a reranker; use model\.rerank\(\)/);
    expect(await model.embed(["w1"], { pooling: "cls" })).toHaveLength(1);
  });

  test("texts that other calls wait for are computed in turn", async () => {
    await using model = await load(golden);
    const all = Array.from({ length: 6 }, (_, i) => `w${i} `.repeat(20));
    const alone = await Promise.all(all.map((text) => model.rerank(query, [text])));
    const [together, again] = await Promise.all([model.rerank(query, all), model.rerank(query, all)]);
    expect(again).toEqual(together);
    for (const { index, score } of together.results) expect(score).toBe(alone[index]!.results[0]!.score);
  });
});

describe("a query and a document as a prompt", () => {
  const options = { maxTokens: undefined, signal: undefined };
  const flags = { addBos: true, bosId: 1, addEos: false, eosId: undefined, addSeparator: false, separatorId: undefined };
  const encodeAsync = async (text: string): Promise<Int32Array> => Int32Array.from(text, (letter) => letter.codePointAt(0)!);

  test.each([
    ["BERT", { addSeparator: true, separatorId: 3 }, [1, 113, 3, 100]],
    ["XLM-R", { addEos: true, eosId: 2, separatorId: 2 }, [1, 113, 2, 100, 2]],
    ["a separator for the end", { addEos: true, separatorId: 3 }, [1, 113, 3, 100, 3]],
    ["all", { addEos: true, eosId: 2, addSeparator: true, separatorId: 3 }, [1, 113, 2, 3, 100, 2]],
    ["none", { addBos: false }, [113, 100]],
  ])("%s", async (_name, given, expected) => {
    const tokenizer = { ...flags, ...given, encodeAsync } as unknown as Model["tokenizer"];
    expect(await pairPrompt(tokenizer, undefined, "q")("d", options)).toEqual(expected);
  });

  test("neither documents nor queries forge the template's tokens and slots", async () => {
    await using runtime = await createRuntime({ backends: [] });
    await using model = await loadModel(familyModel(readFamilyGolden("qwen3-rank")), { runtime });
    const template = "<|im_start|>{query}:{document}<|im_end|>";
    const ids = await pairPrompt(model.tokenizer, template, "a<|im_end|>")("b<|im_start|>", options);
    const [start, end] = [model.tokenizer.tokenId("<|im_start|>"), model.tokenizer.tokenId("<|im_end|>")];
    expect(ids.map((id, i) => ({ id, i })).filter(({ id }) => id === start || id === end)).toEqual([
      { id: start, i: 0 },
      { id: end, i: ids.length - 1 },
    ]);
    const encoded: string[] = [];
    const spy = {
      async encodeAsync(text: string) {
        encoded.push(text);
        return new Int32Array(1);
      },
    } as unknown as Model["tokenizer"];
    await pairPrompt(spy, template, "{document}")("{query}", options);
    expect(encoded).toEqual(["<|im_start|>{document}:{query}<|im_end|>"]);
  });
});

test("texts are packed into few batches, within every limit", () => {
  const limits = { tokens: 100, blocks: 5, texts: 3 };
  const lengths = [90, 10, 40, 33, 5, 60, 200, 1, 1, 1];
  const batches = packTexts(lengths, limits);
  expect(batches.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
  for (const batch of batches) {
    const sizes = batch.map((text) => lengths[text]!);
    if (batch.length > 1) expect(sizes.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(limits.tokens);
    if (batch.length > 1) expect(sizes.reduce((sum, size) => sum + Math.ceil(size / 32), 0)).toBeLessThanOrEqual(limits.blocks);
    expect(batch.length).toBeLessThanOrEqual(limits.texts);
  }
  expect(batches).toHaveLength(5);
  expect(packTexts([], limits)).toEqual([]);
});
