import { createRuntime } from "@centella/core";
import type { Recipe } from "@centella/gguf";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { quantizedWith } from "./blockDigest.ts";
import { readFamilyGolden } from "./familyFixture.ts";
import { interpreted } from "./gpus.ts";
import { cosine } from "./vectors.ts";

/** Place of the largest logit of each row. */
function choicesOf(logits: Float32Array, width: number): readonly number[] {
  return Array.from({ length: logits.length / width }, (_, row) => {
    const own = logits.subarray(row * width, (row + 1) * width);
    return own.indexOf(own.reduce((a, b) => Math.max(a, b)));
  });
}

test.each<readonly [string, Recipe]>([
  ["llama-wide", "Q4_K_M"],
  ["llama-wide", "F16"],
])("%s in %s with half activations chooses what exact products choose", async (name, recipe) => {
  const golden = readFamilyGolden(name);
  const bytes = await quantizedWith(golden, recipe, false);
  const logitsOn = async (backends: readonly (typeof interpreted)[], activations: "half" | "f32"): Promise<[Float32Array, number]> => {
    await using runtime = await createRuntime({ backends, policy: backends.length > 0 ? { force: "cuda" } : {} });
    await using model = await loadModel(bytes, { runtime, activations });
    expect(model.info.activations).toBe(activations);
    return [await model.logits(golden.ids), model.info.vocabSize];
  };
  const [exact, width] = await logitsOn([], "f32");
  const [rounded] = await logitsOn([interpreted], "half");
  expect(rounded).not.toEqual(exact);
  expect(cosine(rounded, exact)).toBeGreaterThan(0.999);
  expect(choicesOf(rounded, width)).toEqual(choicesOf(exact, width));
});
