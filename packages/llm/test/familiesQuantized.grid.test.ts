import { readFileSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { quantizeGguf, type Recipe, readGguf } from "@centella/gguf";
import { isFullGrid } from "@centella/test-devices";
import { describe, expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { familyModel, floats, readFamilyGolden } from "./familyFixture.ts";
import { relativeError } from "./modelFiles.ts";

/** Logits of the last position that llama.cpp computes after it has quantized a model; `scripts/quantized_goldens.py` writes them. */
const goldens = JSON.parse(readFileSync(new URL("fixtures/quantized.json", import.meta.url), "utf8")) as Readonly<
  Record<string, Readonly<Partial<Record<Recipe, string>>>>
>;

/** Sums in another order. */
const exactError = 1e-5;
/** An activation may be halfway between two 8-bit codes; see docs/parity.md. */
const flippedError = 3e-2;

/** Dense, experts, latent attention, recurrent and hybrid. On the reference, none of their activations is between two codes. */
const sample = ["glm4", "qwen3moe", "minicpm3", "mamba2", "jamba"];
// The models of the outside test data are in docs/parity.md.
const all = Object.keys(goldens).filter((name) => !name.startsWith("archs/"));
const cases = (isFullGrid ? all : sample).flatMap((name) =>
  Object.entries(goldens[name]!).map(([recipe, logits]) => ({ name, recipe, logits })),
);

describe.each(["reference", "wasm"] as const)("quantized families on %s compute what llama.cpp does", (backend) => {
  test.each(cases)("$name as $recipe", async ({ name, recipe, logits }) => {
    const golden = readFamilyGolden(name);
    await using file = await readGguf(familyModel(golden));
    const pieces: Uint8Array[] = [];
    await quantizeGguf({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, file, recipe as Recipe, { threads: 1 });
    await using runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
    await using model = await loadModel(Buffer.concat(pieces), { runtime, cacheType: "f32", activations: "ggml" });
    const expected = floats(logits);
    const isExact = backend === "reference" && sample.includes(name);
    expect(relativeError((await model.logits(golden.ids)).slice(-expected.length), expected)).toBeLessThan(
      isExact ? exactError : flippedError,
    );
  });
});
