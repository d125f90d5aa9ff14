import { wasm } from "@centella/backend-wasm";
import { type BackendFactory, createRuntime } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { describeModel } from "./describeModel.ts";
import { opens, software } from "./gpus.ts";
import { tiny } from "./modelFiles.ts";
import { relativeError } from "./vectors.ts";

describeModel("webgpu", software, { isExact: false, isSample: !isWholeGrid });

// A page does the same in `modelChromium.test.ts`, on the same SwiftShader.
test.skipIf(!isWholeGrid || !(await opens(software)))(
  "generates with logits within 1e-3 of WASM's at every step (skipped without a WebGPU device and in samples)",
  async () => {
    const prompt = [0, 2817, 632, 263, 534];
    const count = 12;
    const generated = await stepsOn(wasm(), prompt, count);
    const steps = await stepsOn(software, prompt, count, generated.ids);
    expect(steps.ids).toEqual(generated.ids);
    for (const [i, row] of steps.rows.entries()) expect(relativeError(row, generated.rows[i]!), `step ${i}`).toBeLessThan(1e-3);
  },
);

/** Greedy ids of the tiny storyteller with exact activations, and the logits of every decode step when `feed` is fed. */
async function stepsOn(
  on: BackendFactory,
  prompt: readonly number[],
  count: number,
  feed?: readonly number[],
): Promise<{ ids: readonly number[]; rows: readonly Float32Array[] }> {
  const runtime = await createRuntime({ backends: [on], policy: { force: on.name } });
  try {
    // One token a run: every row is a decode step.
    await using model = await loadModel(tiny, { runtime, cacheType: "f32", activations: "f32", contextLength: 64, batchSize: 1 });
    const { ids } = await model.createSession().complete({ ids: prompt }, { temperature: 0, maxTokens: count });
    const logits = await model.logits([...prompt, ...(feed ?? ids)]);
    const width = model.info.vocabSize;
    return { ids, rows: Array.from({ length: prompt.length + count }, (_, i) => logits.slice(i * width, (i + 1) * width)) };
  } finally {
    await runtime.dispose();
  }
}
