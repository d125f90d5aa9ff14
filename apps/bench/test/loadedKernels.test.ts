import { fileURLToPath } from "node:url";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { expect, test } from "vitest";
import { loadedKernels } from "../../../packages/backend-wasm/src/kernels/lazy/lazyKernels.ts";
import { kernels } from "../../../packages/backend-wasm/src/kernels/lazy/samplingKernels.ts";

const model = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

// Alone in its file, because loaded code stays loaded.
test("completing text loads no kernels that the figures of pages leave out", async () => {
  await using runtime = await createRuntime({ backends: [wasm({ sync: false, threads: 1 })], policy: { force: "wasm" } });
  await using loaded = await loadModel(model, { runtime, contextLength: 128 });
  const { ids } = await loaded.createSession().complete("Once upon a time", { maxTokens: 8 });
  expect(ids.length).toBeGreaterThan(0);
  expect(new Set(loadedKernels())).toEqual(new Set(Object.values(kernels)));
});
