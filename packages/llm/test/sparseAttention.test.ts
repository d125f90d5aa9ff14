import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { expectedLogits, familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";
import { expectOwnTexts } from "./ownTexts.ts";
import { relativeError } from "./vectors.ts";

describe.each([
  ["reference", "deepseek32", 5],
  ["wasm", "deepseek32", 5],
  ["wasm", "minimax-m3", 12],
] as const)("on %s, the keys that the indexers of %s choose, %i for each token,", (backend, family, chosen) => {
  const golden = readFamilyGolden(family);
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  });
  afterAll(() => runtime.dispose());

  test("are all keys of a context that is no longer than their number", async () => {
    await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32", contextLength: chosen });
    const logits = await model.logits(golden.ids.slice(0, chosen));
    expect(relativeError(logits, expectedLogits(golden).slice(0, logits.length))).toBeLessThan(1e-4);
  });

  test("are those of the query's own text, for two texts at a time, forks and restored sessions", () =>
    expectOwnTexts(() => loadModel(familyModel(withVocabulary(golden)), { runtime, cacheType: "f32", sequences: 2 })));
});

test.each(["deepseek4", "graniteswitch", "hy_v4", "kimi-k3", "qwen4exp", "qwen4exp-sparse"])(
  "%s on wasm computes each text by itself, also in forks and restored sessions",
  async (family) => {
    await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
    const bytes = familyModel(withVocabulary(readFamilyGolden(family)));
    await expectOwnTexts(() => loadModel(bytes, { runtime, cacheType: "f32", sequences: 2 }));
  },
);
