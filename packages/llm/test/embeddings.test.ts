import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { familyGoldens, familyModel, floats, readFamilyGolden } from "./familyFixture.ts";

const embedding = familyGoldens.filter((name) => readFamilyGolden(name).mean !== undefined);

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0) / (Math.hypot(...a) * Math.hypot(...b));
}

// Encoders on the reference are compared state by state in families.test.ts.
test.each(embedding)("%s embeds as llama.cpp does, whole and cut, among other texts", async (name) => {
  const golden = readFamilyGolden(name);
  await using runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32" });
  const texts = [golden.ids.slice(3, 9), golden.ids, golden.ids.slice(0, 5)].map((ids) => ({ ids }));
  for (const pooling of ["mean", "cls", "last"] as const) {
    const expected = floats(golden[pooling]!);
    const [, whole] = await model.embed(texts, { pooling });
    expect(cosine(whole!, expected), pooling).toBeGreaterThan(0.9999);
    const [, cut] = await model.embed(texts, { pooling, dimensions: 12 });
    expect(cut).toHaveLength(12);
    expect(Math.hypot(...cut!)).toBeCloseTo(1, 6);
    expect(cosine(cut!, expected.slice(0, 12)), pooling).toBeGreaterThan(0.9999);
  }
});

test("a decoder embeds by its last state, as its file says", async () => {
  const golden = readFamilyGolden("qwen3-embed");
  await using runtime = await createRuntime({ backends: [] });
  await using model = await loadModel(familyModel(golden), { runtime, cacheType: "f32" });
  const [vector] = await model.embed([{ ids: golden.ids }]);
  expect(cosine(vector!, floats(golden.last!))).toBeGreaterThan(0.9999);
  expect((await model.logits(golden.ids)).length).toBe(golden.ids.length * model.info.vocabSize);
});
