import type { ModelLoader } from "./modelEntry.ts";

/** What a download gets. */
export interface PullContext {
  readonly signal: AbortSignal;
  /** Reports bytes. The total is undefined while it is unknown. */
  onProgress(done: number, total: number | undefined): void;
}

/**
 * Models that requests may add to a server. Errors with the code "missing" mean that there is no such model, those with "busy" that another call
 * changes it.
 */
export interface ModelLibrary {
  /** Form of the names, for error messages: `hf:owner/repo:Q4_K_M`. */
  readonly form: string;
  /** The library's spelling of a name. Undefined for what is no name of the library. Paths and URLs must not be names. */
  nameOf(given: string): string | undefined;
  /** Downloads a model, unless it is stored. */
  pull(name: string, context: PullContext): Promise<void>;
  /** Loads a model, and downloads it first unless it is stored. */
  loader(name: string): ModelLoader;
  /** Removes a stored model. */
  remove(name: string): Promise<void>;
}
