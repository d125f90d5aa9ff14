import { readFileSync } from "node:fs";
import { createRuntime } from "@centella/core";
import { type Recipe, readGguf } from "@centella/gguf";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { blockDigest, quantizedWith } from "./blockDigest.ts";
import { floats, readFamilyGolden } from "./familyFixture.ts";
import { relativeError } from "./vectors.ts";

/** What llama.cpp writes and computes, by model, recipe and whether there is an importance matrix; `scripts/blockTypes.mjs` writes it. */
const goldens = Object.entries(
  JSON.parse(readFileSync(new URL("fixtures/blockTypes.json", import.meta.url), "utf8")) as Readonly<
    Record<string, { readonly digest: string; readonly logits: string }>
  >,
);
const sample = ["llama-wide Q4_K_M imatrix", "qwen3moe-wide IQ4_XS imatrix", "mamba2-wide Q2_K imatrix"];
/** Of f16 weights, for which activations are rounded to f16, and some of them are halfway between two values. */
const roundedError = 3e-4;

test.each(goldens.filter(([name]) => isWholeGrid || sample.includes(name)))(
  "%s is quantized to the bytes of llama.cpp and computes its logits",
  async (name, { digest, logits }) => {
    const [model = "", recipe, imatrix] = name.split(" ");
    const golden = readFamilyGolden(model);
    const bytes = await quantizedWith(golden, recipe as Recipe, imatrix !== undefined);
    await using file = await readGguf(bytes);
    expect(await blockDigest(file)).toBe(digest);
    await using runtime = await createRuntime({ backends: [] });
    await using loaded = await loadModel(bytes, { runtime, cacheType: "f32", activations: "ggml" });
    const expected = floats(logits);
    const error = relativeError((await loaded.logits(golden.ids)).slice(-expected.length), expected);
    expect(error).toBeLessThan(/^B?F16$/.test(recipe ?? "") ? roundedError : 1e-5);
  },
);
