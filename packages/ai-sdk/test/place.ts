import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/** The embedded model with two million parameters. */
export const tiny: string = fileURLToPath(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

/** Starts a worker that serves models. */
export function startWorker(): Worker {
  return new Worker(new URL("workers/serving.ts", import.meta.url), { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
}
