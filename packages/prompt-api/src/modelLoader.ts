import type { LoadModelOptions } from "@centella/llm";
import { abortable, type EngineLoadOptions, type EngineModel, loadEngineModel } from "@centella/llm/engine";
import { loadError } from "./errors.ts";
import type { ModelToLoad } from "./modelSource.ts";
import type { Availability } from "./types.ts";

/** What sessions need of a model that may have to be loaded. */
export interface ModelSupply {
  /** The model, if it is loaded. */
  readonly loaded: EngineModel | undefined;
  /** Whether the model is loaded, stored or has to be downloaded. */
  availability(): Promise<Availability>;
  /** Loads the model. Calls at the same time share the work, which ends when all of them are aborted. */
  open(signal: AbortSignal | undefined, onProgress: (fraction: number) => void): Promise<EngineModel>;
  /** Frees the model. The next call loads it again. */
  unload(): Promise<void>;
}

/** A model that its owner has loaded and frees. */
export function ownedModel(model: EngineModel): ModelSupply {
  return { loaded: model, availability: async () => "available", open: async () => model, unload: async () => undefined };
}

interface Loading {
  readonly model: Promise<EngineModel>;
  readonly controller: AbortController;
  readonly listeners: Set<(fraction: number) => void>;
}

/** A model that the first session loads. */
export class LoadedModel implements ModelSupply {
  loaded: EngineModel | undefined;
  readonly #given: ModelToLoad;
  #loading: Loading | undefined;

  constructor(given: ModelToLoad) {
    this.#given = given;
  }

  async availability(): Promise<Availability> {
    if (this.loaded !== undefined) return "available";
    if (this.#loading !== undefined) return "downloading";
    const { source, load = {} } = this.#given;
    const { isRemote, isStored } = await import("./storedModel.ts");
    return !isRemote(source) || (await isStored(source, load.cache)) ? "available" : "downloadable";
  }

  async open(signal: AbortSignal | undefined, onProgress: (fraction: number) => void): Promise<EngineModel> {
    if (this.loaded !== undefined) return this.loaded;
    const loading = this.#loading ?? this.#start();
    loading.listeners.add(onProgress);
    try {
      return await abortable(loading.model, signal);
    } catch (error) {
      if (signal?.aborted) {
        this.#leave(loading, onProgress, signal.reason);
        throw error;
      }
      const { isRemote } = await import("./storedModel.ts");
      throw loadError(error, isRemote(this.#given.source));
    } finally {
      loading.listeners.delete(onProgress);
    }
  }

  async unload(): Promise<void> {
    const model = this.loaded ?? (await this.#loading?.model.catch(() => undefined));
    this.loaded = undefined;
    await model?.dispose();
  }

  /** Ends the work if nobody else waits for it. */
  #leave(loading: Loading, onProgress: (fraction: number) => void, reason: unknown): void {
    loading.listeners.delete(onProgress);
    if (loading.listeners.size > 0) return;
    if (this.#loading === loading) this.#loading = undefined;
    loading.controller.abort(reason);
  }

  #start(): Loading {
    const controller = new AbortController();
    const listeners: Loading["listeners"] = new Set();
    // A download reports its bytes before the weights are loaded from the storage, which is fast.
    let reported: string | undefined;
    const onProgress: LoadModelOptions["onProgress"] = (done, total, stage) => {
      reported ??= stage;
      if (stage === reported) for (const listener of listeners) listener(done / total);
    };
    const model = loadGiven(this.#given, { signal: controller.signal, onProgress });
    const loading = { model, controller, listeners };
    this.#loading = loading;
    const end = (loaded: EngineModel | undefined): void => {
      if (this.#loading !== loading) {
        // Nobody waits for this model, or another one is being loaded.
        void loaded?.dispose();
        return;
      }
      this.#loading = undefined;
      this.loaded = loaded;
    };
    model.then(end, () => end(undefined));
    return loading;
  }
}

async function loadGiven(given: ModelToLoad, callbacks: Pick<LoadModelOptions, "signal" | "onProgress">): Promise<EngineModel> {
  const engine = "worker" in given ? { worker: given.worker } : { runtime: given.runtime };
  return loadEngineModel(given.source, { ...given.load, ...callbacks, ...engine } as EngineLoadOptions);
}
