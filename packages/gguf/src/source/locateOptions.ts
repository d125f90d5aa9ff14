import type { ModelStorage } from "../pull/storage.ts";
import type { GgufInput } from "./byteSource.ts";

/** How a remote file is opened. */
export interface LocateOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether to download the file into a storage, where it is found the next time, also offline. If false, the file is read by ranges.
   * True selects the default storage: a folder on disk in Node, the origin private file system in pages. One small request checks
   * whether a stored file has changed on the server; a changed file is downloaded again. Lists of parts are not stored.
   * Default: true for models on a hub, false for URLs.
   */
  readonly cache?: boolean | ModelStorage | undefined;
  /** Called during a download with the bytes so far and in total. The total is undefined while it is unknown. */
  readonly onDownload?: ((done: number, total: number | undefined) => void) | undefined;
}

/** The files of an input, as paths, URLs or sources. */
export interface Located {
  readonly inputs: readonly GgufInput[];
  /** Reasons why the files are not read as requested. */
  readonly warnings: readonly string[];
}
