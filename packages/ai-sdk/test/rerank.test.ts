import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { rerank } from "ai";
import { type RerankingModel, rerank as rerank6 } from "ai-6";
import { expect, test } from "vitest";
import { familyModel, readFamilyGolden } from "../../llm/test/familyFixture.ts";
import { createCentella } from "../src/index.ts";
import { createCentella as createCentellaV3 } from "../src/v3.ts";

test("documents are ranked with llama.cpp's scores, by both versions", async () => {
  const golden = readFamilyGolden("modern-bert-rank");
  const { query, documents, scores } = golden.ranked!;
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  const options = { runtime, models: { ranker: { source: familyModel(golden), load: { cacheType: "f32" } } } } as const;
  await using centella = createCentella(options);
  await using centella3 = createCentellaV3(options);
  const call = { query, documents: [...documents], topN: 2, maxRetries: 0 };
  const { ranking } = await rerank({ ...call, model: centella.rerankingModel("ranker") });
  expect(ranking).toHaveLength(2);
  for (const { originalIndex, score } of ranking) expect(score).toBeCloseTo(scores[originalIndex]!, 4);
  expect(ranking[0]!.score).toBeGreaterThanOrEqual(Math.max(...scores) - 1e-4);
  expect((await rerank6({ ...call, model: centella3.rerankingModel("ranker") as RerankingModel })).ranking).toEqual(ranking);
  // Objects are ranked by their JSON.
  const objects = documents.map((text) => ({ text }));
  const ranked = await rerank({ model: centella.rerankingModel("ranker"), query, documents: objects, maxRetries: 0 });
  expect(ranked.ranking).toHaveLength(documents.length);
});
