import { readFileSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, UnsupportedError } from "@centella/core";
import { expect, test } from "vitest";
import { type GenerateOptions, loadModel } from "../src/index.ts";
import { describeNextn } from "../src/load/draft/nextnDraft.ts";
import { familyGoldens, familyModel, floats, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { openHead } from "./openHead.ts";
import { expectOwnTexts } from "./ownTexts.ts";
import { relativeError } from "./vectors.ts";

const families = familyGoldens.filter((name) => readFamilyGolden(name).nextn !== undefined);
/** Latent attention, experts, recurrent layers, several states of each token, windows. */
const sample = ["deepseek2-nextn", "glm4moe-nextn", "qwen35-nextn", "deepseek4-nextn", "mimo2-nextn", "nemotron_h_moe-latent-nextn"];
const greedy = { temperature: 0, maxTokens: 12, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
const prompt = [5, 9, 31, 17, 8, 22, 35, 14, 27];

test.each(
  families.flatMap(
    (family) =>
      [
        [family, 32],
        [family, 10],
      ] as const,
  ),
)("%s: the block predicts what llama.cpp's does, %i tokens at a time", async (family, batchSize) => {
  const golden = readFamilyGolden(family);
  const { ids } = golden;
  await using opened = await openHead(familyModel(golden), { batchSize }, (description, file) =>
    describeNextn(description, file, { cacheType: "f32", draft: {} }),
  );
  const feed = await opened.read(ids);
  const expected = floats(golden.nextn!);
  const { vocabSize } = opened;
  const isWhole = batchSize > ids.length;
  const { logits } = await feed(isWhole ? "all" : "last");
  const rows = isWhole ? expected : expected.slice(-vocabSize);
  expect(relativeError(logits.slice(-rows.length), rows)).toBeLessThan(1e-4);
  // A second draft after the same text computes the newest token alone.
  if (!isWhole) expect(await feed("last")).toEqual({ logits, tokens: 1 });
});

test("the README names the families whose block is compared", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, sentence = ""] = /\*\*Families with such a block\*\*: ([^.]*?), all compared/.exec(readme) ?? [];
  const architectures = families.map((family) => readFamilyGolden(family).metadata.find(([key]) => key === "general.architecture")![2]);
  expect([...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(architectures.toSorted());
});

test("drafts without a source are refused for files and families without such a block", async () => {
  await using runtime = await createRuntime({ backends: [] });
  const load = (name: string) => loadModel(familyModel(readFamilyGolden(name)), { runtime, draft: {} });
  await expect(load("glm4moe")).rejects.toThrow(UnsupportedError);
  const elsewhere = loadModel(familyModel(readFamilyGolden("glm4moe-nextn")), { runtime, draft: { runtime } });
  await expect(elsewhere).rejects.toThrow(/loadModel\.draft: expected no runtime without a source/);
  await expect(load("glm4moe")).rejects.toThrow(/the file has no block that predicts further tokens; name a draft model/);
});

test.each(sample)("%s: the text is the same as without drafts by the model's own block", async (family) => {
  const bytes = familyModel(withVocabulary(readFamilyGolden(family)));
  await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  await using plain = await loadModel(bytes, { runtime, cacheType: "f32", sequences: 2 });
  await using model = await loadModel(bytes, { runtime, cacheType: "f32", sequences: 2, draft: { tokens: 3 } });
  const options: readonly GenerateOptions[] = [greedy, { ...greedy, temperature: 0.8, seed: 3 }, { ...greedy, logprobs: 1 }];
  for (const each of options) {
    const texts = [prompt, [...prompt.slice(0, 4), 3, 4]];
    const complete = (of: typeof model) => Promise.all(texts.map((ids) => of.createSession().complete({ ids }, each)));
    const [expected, drafted] = [await complete(plain), await complete(model)];
    expect(drafted.map(({ ids }) => ids)).toEqual(expected.map(({ ids }) => ids));
    for (const { usage } of drafted) expect(usage.draftedTokens).toBeGreaterThan(0);
  }
});

test("sessions fork, are saved and go on, and a context that is shifted is drafted, too", async () => {
  const bytes = familyModel(withVocabulary(readFamilyGolden("glm4moe-nextn")));
  await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  await expectOwnTexts(() => loadModel(bytes, { runtime, cacheType: "f32", sequences: 2, draft: { tokens: 2 } }));
  const complete = async (draft?: { readonly tokens: number }) => {
    await using model = await loadModel(bytes, { runtime, cacheType: "f32", contextLength: 32, ...(draft && { draft }) });
    const overflow = { generation: "shift", keep: 4 } as const;
    return (await model.createSession().complete({ ids: prompt }, { ...greedy, maxTokens: 40, overflow })).ids;
  };
  expect(await complete({ tokens: 3 })).toEqual(await complete());
});
