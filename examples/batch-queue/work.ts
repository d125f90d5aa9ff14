// Answers requests of the queue by a model: node work.ts model.gguf. Start it on any number of machines.
import { argv } from "node:process";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { createHandler } from "@centella/server";
import { concurrency, work } from "./queueWorker.ts";

const [, , path] = argv;
if (path === undefined) throw new Error("work: expected a model; node work.ts model.gguf");
const runtime = await createRuntime({ backends: [wasm()] });
const model = await loadModel(path, { runtime, sequences: concurrency });
const worker = work(createHandler({ models: { model } }));
worker.on("error", console.error);
process.once("SIGTERM", async () => {
  // Running requests end first.
  await worker.close();
  await model.dispose();
  await runtime.dispose();
});
