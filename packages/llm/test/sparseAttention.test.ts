import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel, type Model } from "../src/index.ts";
import { familyModel, floats, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { relativeError } from "./modelFiles.ts";

describe.each([
  ["reference", "deepseek32", 5],
  ["wasm", "deepseek32", 5],
  ["wasm", "minimax-m3", 12],
] as const)("on %s, the keys that the indexers of %s choose, %i for each token,", (backend, family, chosen) => {
  const golden = readFamilyGolden(family);
  const greedy = { temperature: 0, maxTokens: 6, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
  const prompt = [5, 9, 31, 17, 8, 22, 35, 14, 27];
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  });
  afterAll(() => runtime.dispose());
  const load = (): Promise<Model> => loadModel(familyModel(withVocabulary(golden)), { runtime, cacheType: "f32", sequences: 2 });
  /** By a model that has computed nothing before. */
  async function afresh(ids: readonly number[]): Promise<readonly number[]> {
    await using other = await load();
    return (await other.createSession().complete({ ids }, greedy)).ids;
  }

  test("are all keys of a context that is no longer than their number", async () => {
    await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32", contextLength: chosen });
    const logits = await model.logits(golden.ids.slice(0, chosen));
    expect(relativeError(logits, floats(golden.logits!).slice(0, logits.length))).toBeLessThan(1e-4);
  });

  test("are those of the query's own text, for two texts at a time, forks and restored sessions", async () => {
    await using model = await load();
    const [one, two] = [model.createSession(), model.createSession()];
    const [a, b] = [
      [...prompt, 3, 3, 3, ...prompt, 11, ...prompt, 4, ...prompt],
      [...prompt.slice(0, 3), 12, 13, 6, 7, 30, 11],
    ];
    const together = await Promise.all([one.complete({ ids: a }, greedy), two.complete({ ids: b }, greedy)]);
    expect(together.map(({ ids }) => ids)).toEqual([await afresh(a), await afresh(b)]);
    const longer = [...a, ...together[0]!.ids, 21, 4];
    const expected = await afresh(longer);
    await using other = await load();
    const restored = await other.restoreSession(await one.save());
    for (const session of [one.fork(), restored]) {
      const { usage, ids } = await session.complete({ ids: longer }, greedy);
      expect(usage.cachedTokens).toBeGreaterThanOrEqual(32);
      expect(ids).toEqual(expected);
    }
  });
});
