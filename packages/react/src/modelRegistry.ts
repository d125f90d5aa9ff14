import {
  createModelStore,
  type ModelSnapshot,
  type ModelStore,
  type ModelStoreOptions,
  type RuntimeStoreOptions,
} from "@centella/llm/store";
import { Engine, type EngineProps } from "./engine.ts";
import { keyOf } from "./keyOf.ts";

/** Options of loading a model: those of `loadModel`. In a worker, `cache` is true or false, and a draft has no runtime of its own. */
export type ModelOptions = Omit<RuntimeStoreOptions, "runtime">;

/** What a store loads. */
export type ModelSource = Parameters<typeof createModelStore>[0];

/** A model of the page, and its state. */
export interface ListedModel extends ModelSnapshot {
  readonly source: ModelSource;
}

/** A model that components share. */
export interface SharedModel {
  readonly key: string;
  readonly source: ModelSource;
  readonly store: ModelStore;
  /** Number of mounted components that use it. */
  users: number;
  /** Unloads it after a while. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The models of a page, by source and options. They share one engine. */
export class ModelRegistry {
  readonly #engine: Engine;
  readonly #keepMs: number;
  readonly #models = new Map<string, SharedModel>();
  readonly #listeners = new Set<() => void>();
  #listed: readonly ListedModel[] = [];
  #isMounted = false;

  constructor(props: EngineProps, keepMs: number) {
    this.#engine = new Engine(props);
    this.#keepMs = keepMs;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** The models in the order of their first use: the same list until something changes. */
  readonly list = (): readonly ListedModel[] => this.#listed;

  /** The model of a source and options. Creating it loads nothing. */
  find(source: ModelSource, options: ModelOptions): SharedModel {
    const key = keyOf([source, options]);
    const known = this.#models.get(key);
    if (known !== undefined) return known;
    const engine = this.#engine.use();
    // In a worker the store refuses what it cannot have.
    const store = createModelStore(source, { ...options, ...engine.options } as ModelStoreOptions);
    const model: SharedModel = { key, source, store, users: 0, timer: undefined };
    store.subscribe(() => {
      if (store.getSnapshot().status === "lost") engine.lose();
      this.#changed();
    });
    this.#models.set(key, model);
    return model;
  }

  /** Keeps a model while a component uses it. Returns the function that ends this. */
  retain(model: SharedModel): () => void {
    model.users++;
    clearTimeout(model.timer);
    this.#models.set(model.key, model);
    this.#changed();
    return () => {
      model.users--;
      this.releaseLater(model);
    };
  }

  /** Unloads a model after a while, at least `minMs`, if no component uses it then. */
  releaseLater(model: SharedModel, minMs = 0): void {
    clearTimeout(model.timer);
    if (model.users > 0) return;
    model.timer = setTimeout(() => void this.#release(model), Math.max(minMs, this.#keepMs));
  }

  /** The provider is mounted. Returns what to do when it no longer is. */
  readonly mount = (): (() => void) => {
    this.#isMounted = true;
    return () => {
      this.#isMounted = false;
      setTimeout(() => void this.#closeIfUnused(), this.#keepMs);
    };
  };

  async #release(model: SharedModel): Promise<void> {
    await model.store.unload().catch(() => undefined);
    // A component that came meanwhile goes on with the same store.
    if (model.users > 0) return;
    this.#models.delete(model.key);
    this.#changed();
    await this.#closeIfUnused();
  }

  async #closeIfUnused(): Promise<void> {
    const isUsed = this.#isMounted || [...this.#models.values()].some(({ store }) => store.getSnapshot().status !== "idle");
    if (!isUsed) await this.#engine.close();
  }

  #changed(): void {
    const used = [...this.#models.values()].filter(({ users, store }) => users > 0 || store.getSnapshot().status !== "idle");
    this.#listed = used.map(({ source, store }) => ({ source, ...store.getSnapshot() }));
    for (const listener of [...this.#listeners]) listener();
  }
}
