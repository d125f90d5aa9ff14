import type { LoadModelOptions, loadModel } from "@centella/llm";
import type { ModelWorker } from "@centella/llm/worker";

/** What `loadModel` takes. */
export type LoadSource = Parameters<typeof loadModel>[0];

/** Options of loading a model, here or in a worker. */
export type LoadOptions = Omit<LoadModelOptions, "runtime" | "signal" | "onProgress">;

/** A model to load when a session needs it. */
export type ModelToLoad = {
  /** What `loadModel` takes: a path, a URL, `hf:owner/repo:Q4_K_M`, a `Blob` or bytes. */
  readonly source: LoadSource;
  /** Options of loading. */
  readonly load?: LoadOptions | undefined;
} & ({ readonly runtime: LoadModelOptions["runtime"] } | { readonly worker: ModelWorker });
