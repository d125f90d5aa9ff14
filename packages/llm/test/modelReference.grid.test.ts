import { createRuntime, reference } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { describe, expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { describeModel } from "./describeModel.ts";
import { hasShared, readFloats } from "./modelFiles.ts";
import { shared } from "./shared.ts";
import { relativeError } from "./vectors.ts";

describeModel("reference", reference(), { isExact: true, scope: "small", isSample: !isWholeGrid });

/** The reference also stores sums of activations as ggml does, so that nothing is left but the order of f32 additions. */
describe.skipIf(!hasShared)("the reference's ggml arithmetic is ggml's (skipped without outside test data at CENTELLA_SHARED)", () => {
  test.each(["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K_M", "Q6_K", "IQ3_S", "IQ4_NL"])("%s", async (type) => {
    await using runtime = await createRuntime({ backends: [reference()] });
    await using model = await loadModel(shared(`data/quants/llama-dense-${type}.gguf`), { runtime, cacheType: "f32", activations: "ggml" });
    const logits = await model.logits(Array.from({ length: 12 }, (_, i) => i + 1));
    expect(relativeError(logits, readFloats(`data/quants/llama-dense-${type}.logits.f32`))).toBeLessThan(1e-6);
  });
});
