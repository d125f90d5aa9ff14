import { ArgumentError, type Runtime } from "@centella/core";
import { boolean, callback, checkOptions, either, type Kinds, object } from "@centella/quant/checks";
import { type LoadModelOptions, loadKinds } from "../load/loadOptions.ts";
import type { ModelWorker } from "../worker/endpoint.ts";
import type { WorkerLoadOptions } from "../worker/workerModel.ts";

/** Options of a store whose models a runtime computes: those of `loadModel`. */
export interface RuntimeStoreOptions extends Omit<LoadModelOptions, "runtime" | "signal" | "onProgress"> {
  /** The runtime, or a function that returns it. The function is called for each load, also after a loss. */
  readonly runtime: Runtime | (() => Runtime | Promise<Runtime>);
}

/** Options of a store whose models a worker computes: those of `loadModel` of `@centella/llm/worker`. */
export interface WorkerStoreOptions extends Omit<WorkerLoadOptions, "worker" | "signal" | "onProgress"> {
  /** The worker, or a function that returns it. The function is called for each load, also after a loss. */
  readonly worker: ModelWorker | (() => ModelWorker | Promise<ModelWorker>);
}

/** Options of `createModelStore`: either a runtime or a worker computes. */
export type ModelStoreOptions = RuntimeStoreOptions | WorkerStoreOptions;

const { runtime: _runtime, signal: _signal, onProgress: _onProgress, ...sharedKinds } = loadKinds;
const engine = either(object, callback);
const runtimeKinds: Kinds<RuntimeStoreOptions> = { ...sharedKinds, runtime: engine };
const workerKinds: Kinds<WorkerStoreOptions> = { ...sharedKinds, cache: boolean, worker: engine };

/** @throws {ArgumentError} for an unknown option or a wrong value, and without exactly one of `runtime` and `worker` */
export function checkStoreOptions(options: ModelStoreOptions): void {
  const both: Kinds<RuntimeStoreOptions & WorkerStoreOptions> = { ...workerKinds, ...runtimeKinds };
  checkOptions("createModelStore", options as RuntimeStoreOptions & WorkerStoreOptions, both);
  const [hasRuntime, hasWorker] = ["runtime", "worker"].map((name) => options[name as keyof ModelStoreOptions] !== undefined);
  if (hasRuntime === hasWorker)
    throw new ArgumentError("createModelStore", "either a runtime or a worker", hasRuntime ? "both" : "neither", "pass one of them");
  if (isOnWorker(options)) checkOptions("createModelStore", options, workerKinds);
}

export function isOnWorker(options: ModelStoreOptions): options is WorkerStoreOptions {
  return "worker" in options && options.worker !== undefined;
}
