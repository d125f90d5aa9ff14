import type { Model } from "@centella/llm";
import type { WorkerModel } from "@centella/llm/worker";
import { isRecord, type Kind, kind } from "@centella/quant/checks";

/** A loaded model, in this thread or in a worker. Its owner disposes of it. */
export type EngineModel = Model | WorkerModel;

/** The kind of {@link EngineModel} for checks of arguments. */
export const loadedModel: Kind = kind("a loaded model", (value) => isRecord(value) && typeof value.createSession === "function");
