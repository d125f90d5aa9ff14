import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { loadModel as loadInWorker } from "@centella/llm/worker";
import { afterAll } from "vitest";
import type { EngineModel } from "../src/index.ts";

/** The embedded model with two million parameters. */
const tiny = fileURLToPath(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

/** The model in this thread and in a worker, for all tests of a file. */
export async function openModels(): Promise<readonly (readonly [name: string, model: EngineModel])[]> {
  const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  const worker = new Worker(new URL("workers/serving.ts", import.meta.url), {
    execArgv: ["--conditions=@centella/source", "--no-warnings"],
  });
  const options = { contextLength: 1024, sequences: 4 };
  const models = [
    ["this thread", await loadModel(tiny, { ...options, runtime })],
    ["a worker", await loadInWorker(tiny, { ...options, worker })],
  ] as const;
  afterAll(async () => {
    for (const [, model] of models) await model.dispose();
    await runtime.dispose();
    await worker.terminate();
  });
  return models;
}
