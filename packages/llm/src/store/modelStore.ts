import { formatRejection } from "@centella/core/backend";
import type { EngineModel, LoadSource } from "../engine/engineModel.ts";
import type { LoadModelOptions } from "../load/loadOptions.ts";
import type { Model } from "../model/model.ts";
import type { ModelInfo } from "../model/modelInfo.ts";
import type { WorkerModel } from "../worker/workerModel.ts";
import { Generations, isLoss } from "./generations.ts";
import { LoadProgress } from "./loadProgress.ts";
import { openModel } from "./openModel.ts";
import { idleSnapshot, type ModelSnapshot, SnapshotHolder } from "./snapshot.ts";
import { checkStoreOptions, type ModelStoreOptions, type RuntimeStoreOptions, type WorkerStoreOptions } from "./storeOptions.ts";

/** A model and its state, for user interfaces. Functions may be called without the store as `this`. */
export interface ModelStore<Loaded extends EngineModel = EngineModel> {
  /** The loaded model; undefined while there is none. After a loss it stays, so that its sessions' messages can be read, until `load()`. */
  readonly model: Loaded | undefined;
  /** Calls a listener whenever the snapshot changes. Returns a function that ends this. */
  readonly subscribe: (listener: () => void) => () => void;
  /** The current state: the same object until something changes. */
  readonly getSnapshot: () => ModelSnapshot;
  /**
   * Loads the model, unless it is loaded or being loaded. Calls during a load share it. After an error or a loss it loads again.
   * @throws the errors of `loadModel`, which the snapshot has, too; an `AbortError` after `cancel` and `unload`
   */
  readonly load: () => Promise<Loaded>;
  /** Ends a load within a step, and goes back to "idle". A download goes on there next time. Without a load it does nothing. */
  readonly cancel: () => void;
  /** Frees the model, or ends its load. Resolves when its memory is free. */
  readonly unload: () => Promise<void>;
}

/**
 * Creates a store that loads a model and reports its state. Nothing is loaded before `load()`.
 *
 * `subscribe` and `getSnapshot` are what `useSyncExternalStore` takes. The sessions of the loaded model report to the store.
 * @throws {ArgumentError} for an unknown option or a wrong value, and without exactly one of `runtime` and `worker`
 */
export function createModelStore(source: LoadSource, options: RuntimeStoreOptions): ModelStore<Model>;
export function createModelStore(source: LoadSource, options: WorkerStoreOptions): ModelStore<WorkerModel>;
export function createModelStore(source: LoadSource, options: ModelStoreOptions): ModelStore;
export function createModelStore(source: LoadSource, options: ModelStoreOptions): ModelStore {
  checkStoreOptions(options);
  return new LoadingStore(source, options);
}

const nowMs = (): number => performance.now();
const ignore = (): void => undefined;

class LoadingStore implements ModelStore {
  readonly #source: LoadSource;
  readonly #options: ModelStoreOptions;
  readonly #state = new SnapshotHolder();
  #loading: { readonly stop: AbortController; readonly model: Promise<EngineModel> } | undefined;
  #loaded: { readonly model: EngineModel; readonly generations: Generations } | undefined;
  /** Resolves when earlier models and loads hold no memory and no lock of the storage. */
  #freed: Promise<unknown> = Promise.resolve();

  constructor(source: LoadSource, options: ModelStoreOptions) {
    this.#source = source;
    this.#options = options;
  }

  readonly getSnapshot = this.#state.get;
  readonly subscribe = this.#state.subscribe;

  get model(): EngineModel | undefined {
    return this.#loaded?.model;
  }

  readonly load = (): Promise<EngineModel> => {
    if (this.#loaded !== undefined && this.getSnapshot().status !== "lost") return Promise.resolve(this.#loaded.model);
    if (this.#loading !== undefined) return this.#loading.model;
    // A lost model cannot say more than that it is lost.
    void this.#free().catch(ignore);
    const stop = new AbortController();
    const model = this.#load(stop.signal, this.#freed);
    this.#loading = { stop, model };
    this.#freed = model.catch(ignore);
    this.#state.update({ ...idleSnapshot, status: "checking" });
    return model;
  };

  readonly cancel = (): void => {
    if (this.#loading === undefined) return;
    this.#loading.stop.abort();
    this.#loading = undefined;
    this.#state.update(idleSnapshot);
  };

  readonly unload = async (): Promise<void> => {
    this.cancel();
    const freed = this.#free();
    this.#state.update(idleSnapshot);
    await Promise.all([freed, this.#freed]);
  };

  async #load(signal: AbortSignal, freed: Promise<unknown>): Promise<EngineModel> {
    const progress = new LoadProgress((changes) => !signal.aborted && this.#state.update(changes));
    const onProgress: NonNullable<LoadModelOptions["onProgress"]> = (...counts) => progress.report(...counts, nowMs());
    try {
      await freed;
      const { estimateOf } = await import("./estimate.ts");
      const estimate = await estimateOf(this.#source, this.#options, signal);
      signal.throwIfAborted();
      this.#state.update({ estimate });
      const generations = new Generations(this.#state, nowMs);
      const model = await openModel(this.#source, this.#options, { signal, onProgress }, generations);
      if (signal.aborted) await model.dispose();
      signal.throwIfAborted();
      this.#loading = undefined;
      this.#loaded = { model, generations };
      this.#state.update({ status: "ready", rate: undefined, ...described(model.info) });
      return model;
    } catch (error) {
      if (!signal.aborted) {
        this.#loading = undefined;
        this.#state.update({ status: isLoss(error) ? "lost" : "error", rate: undefined, error });
      }
      throw error;
    } finally {
      progress.stop();
    }
  }

  /** Disposes of the loaded model. A later load waits for it. */
  async #free(): Promise<void> {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    this.#loaded = undefined;
    loaded.generations.close();
    const disposal = loaded.model.dispose();
    this.#freed = Promise.all([this.#freed, disposal.catch(ignore)]);
    await disposal;
  }
}

function described({ backend, backendReason, rejected, contextLength, sequences, memory }: ModelInfo): Partial<ModelSnapshot> {
  const { weights: weightBytes, cache: cacheBytes } = memory;
  return {
    backend,
    reasons: [backendReason, ...rejected.map(formatRejection)],
    estimate: { contextLength, sequences, weightBytes, cacheBytes, totalBytes: weightBytes + cacheBytes },
  };
}
