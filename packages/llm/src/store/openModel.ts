import type { EngineModel, LoadSource } from "../engine/engineModel.ts";
import type { LoadModelOptions } from "../load/loadOptions.ts";
import { isOnWorker, type ModelStoreOptions } from "./storeOptions.ts";
import { type ModelWatcher, watchModel } from "./watchModel.ts";

/** Loads the model of a store, here or in a worker. */
export async function openModel(
  source: LoadSource,
  options: ModelStoreOptions,
  load: Required<Pick<LoadModelOptions, "signal" | "onProgress">>,
  watcher: ModelWatcher,
): Promise<EngineModel> {
  if (isOnWorker(options)) {
    const { loadModel } = await import("../worker/workerModel.ts");
    const worker = typeof options.worker === "function" ? await options.worker() : options.worker;
    return watchModel(await loadModel(source, { ...options, ...load, worker }), watcher);
  }
  const { loadModel } = await import("../load/loadModel.ts");
  const runtime = typeof options.runtime === "function" ? await options.runtime() : options.runtime;
  return watchModel(await loadModel(source, { ...options, ...load, runtime }), watcher);
}
