import type { MemoryEstimate } from "@centella/gguf";

/**
 * What a model is doing.
 * - "idle": not loaded.
 * - "checking": the file is opened, or compared with the server's.
 * - "downloading": the file is downloaded into the storage.
 * - "loading": the weights are loaded into the backend.
 * - "ready": it can generate.
 * - "generating": at least one of its sessions generates.
 * - "error": loading failed. `load()` tries again.
 * - "lost": the device or worker is gone. `load()` loads the model again.
 */
export type ModelStatus = "idle" | "checking" | "downloading" | "loading" | "ready" | "generating" | "error" | "lost";

/** State of a model at one moment. Frozen; the same object until something changes. */
export interface ModelSnapshot {
  readonly status: ModelStatus;
  /** Bytes that were downloaded or loaded so far. */
  readonly bytes: number;
  /** All bytes to download or load. Undefined before either begins. */
  readonly totalBytes: number | undefined;
  /** Bytes per second, smoothed over the last seconds. Undefined while it is unknown. */
  readonly rate: number | undefined;
  /**
   * Memory of weights and cache. Before loading it is known for files on this machine, unless the context is "auto"; after loading, always.
   */
  readonly estimate: MemoryEstimate | undefined;
  /** Name of the backend that computes. */
  readonly backend: string | undefined;
  /** Why this backend computes, and for each other one why it does not. */
  readonly reasons: readonly string[];
  /** Prompt tokens of the current generation that are computed, if it has the option `progress`. */
  readonly prefill: { readonly done: number; readonly total: number } | undefined;
  /** Speed of the current generation, or of the last one. */
  readonly tokensPerSecond: number | undefined;
  /** Why the status is "error" or "lost". */
  readonly error: unknown;
}

/** The state of a model that is not loaded, such as in a page that a server renders. */
export const idleSnapshot: ModelSnapshot = Object.freeze({
  status: "idle",
  bytes: 0,
  totalBytes: undefined,
  rate: undefined,
  estimate: undefined,
  backend: undefined,
  reasons: [],
  prefill: undefined,
  tokensPerSecond: undefined,
  error: undefined,
});

/** Holds the current snapshot and tells listeners when it changes. */
export class SnapshotHolder {
  #snapshot = idleSnapshot;
  readonly #listeners = new Set<() => void>();

  readonly get = (): ModelSnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    // A function that subscribes twice is called until both have ended.
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  };

  update(changes: Partial<ModelSnapshot>): void {
    const next = Object.freeze({ ...this.#snapshot, ...changes });
    const names = Object.keys(next) as (keyof ModelSnapshot)[];
    if (names.every((name) => Object.is(next[name], this.#snapshot[name]))) return;
    this.#snapshot = next;
    for (const listener of [...this.#listeners]) listener();
  }
}
