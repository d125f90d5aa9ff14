import { readFileSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { quantizeGguf, type Recipe, readGguf } from "@centella/gguf";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, describe, expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { asLlamaCpp, modelOfFamily, quantizedError } from "./familyError.ts";
import { readFamilyGolden } from "./familyFixture.ts";

/** What llama.cpp computes after it has quantized a model; see {@link quantizedError}. `scripts/quantized_goldens.py` writes it. */
const goldens = JSON.parse(readFileSync(new URL("fixtures/quantized.json", import.meta.url), "utf8")) as Readonly<
  Record<string, Readonly<Partial<Record<Recipe, string>>>>
>;

/** Sums in another order. */
const exactError = 1e-5;
/** An activation may be halfway between two 8-bit codes; see docs/parity.md. */
const flippedError = 3e-2;

/** Dense, experts, latent attention, recurrent, hybrid, an encoder. On the reference, none of their activations is between two codes. */
const sample = ["glm4", "qwen3moe", "minicpm3", "mamba2", "jamba", "bert"];
// The models of the outside test data are in docs/parity.md.
const all = Object.keys(goldens).filter((name) => !name.startsWith("archs/"));
const cases = (isWholeGrid ? all : sample).flatMap((name) =>
  Object.entries(goldens[name]!).map(([recipe, logits]) => ({ name, recipe, logits })),
);

const wasmRuntime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
const scalarRuntime = await createRuntime({ backends: [] });
afterAll(() => Promise.all([wasmRuntime.dispose(), scalarRuntime.dispose()]));

describe("quantized families compute what llama.cpp does", () => {
  test.each(cases)("$name as $recipe, on the reference and on WASM", async ({ name, recipe, logits }) => {
    const golden = readFamilyGolden(name);
    const bytes = await quantized(modelOfFamily(golden), recipe as Recipe);
    for (const runtime of [scalarRuntime, wasmRuntime]) {
      await using model = await loadModel(bytes, { runtime, ...asLlamaCpp });
      const isExact = runtime === scalarRuntime && sample.includes(name);
      expect(await quantizedError(model, golden, logits)).toBeLessThan(isExact ? exactError : flippedError);
    }
  });
});

async function quantized(model: Uint8Array, recipe: Recipe): Promise<Uint8Array> {
  await using file = await readGguf(model);
  const pieces: Uint8Array[] = [];
  await quantizeGguf({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, file, recipe, { threads: 1 });
  return Buffer.concat(pieces);
}
