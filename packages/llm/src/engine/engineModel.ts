import type { GgufInput } from "@centella/gguf";
import { isRecord, type Kind, kind } from "@centella/quant/checks";
import type { LoadModelOptions } from "../load/loadOptions.ts";
import type { Model } from "../model/model.ts";
import type { WorkerLoadOptions, WorkerModel } from "../worker/workerModel.ts";

/** What `loadModel` takes. */
export type LoadSource = GgufInput | readonly GgufInput[];

/** A loaded model, in this thread or in a worker. */
export type EngineModel = Model | WorkerModel;

/** The kind of {@link EngineModel} for checks of arguments. */
export const loadedModel: Kind = kind("a loaded model", (value) => isRecord(value) && typeof value.createSession === "function");

/** Options of loading a model: by a runtime in this thread, or in a worker. */
export type EngineLoadOptions = LoadModelOptions | WorkerLoadOptions;

/** Loads a model with the options of either `loadModel`. The code is fetched by the first call. @throws the errors of `loadModel` */
export async function loadEngineModel(source: LoadSource, options: EngineLoadOptions): Promise<EngineModel> {
  if ("worker" in options && options.worker !== undefined) {
    const { loadModel } = await import("../worker/workerModel.ts");
    return loadModel(source, options);
  }
  const { loadModel } = await import("../load/loadModel.ts");
  return loadModel(source, options as LoadModelOptions);
}
