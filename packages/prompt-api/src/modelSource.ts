import type { LoadModelOptions } from "@centella/llm";
import type { LoadSource } from "@centella/llm/engine";
import type { ModelWorker, WorkerLoadOptions } from "@centella/llm/worker";

/** Options of loading that the caller sets. */
type Settable<Options> = Omit<Options, "runtime" | "worker" | "signal" | "onProgress">;

/** A model to load when a session needs it, by a runtime or in a worker. `load` has options of loading. */
export type ModelToLoad = {
  /** What `loadModel` takes: a path, a URL, `hf:owner/repo:Q4_K_M`, a `Blob` or bytes. */
  readonly source: LoadSource;
} & (
  | { readonly runtime: LoadModelOptions["runtime"]; readonly load?: Settable<LoadModelOptions> | undefined }
  | { readonly worker: ModelWorker; readonly load?: Settable<WorkerLoadOptions> | undefined }
);
