import type { Model } from "@centella/llm";
import type { WorkerModel } from "@centella/llm/worker";

/** A loaded model, in this thread or in a worker. Its owner disposes of it. */
export type EngineModel = Model | WorkerModel;
