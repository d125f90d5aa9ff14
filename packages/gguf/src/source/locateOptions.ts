import type { ModelStorage } from "../pull/storage.ts";
import type { GgufInput } from "./byteSource.ts";

/** How a file that is not on this machine is opened. */
export interface LocateOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the file is downloaded into a storage and found there the next time, also offline. Without it, the file is read by ranges.
   * A storage, or true for the default one: a folder of the disk in Node, the origin private file system in pages. A stored file is
   * compared with the server's by one small request, and downloaded again if that has changed. Lists of parts are not stored.
   * Default: true for models on a hub, false for URLs.
   */
  readonly cache?: boolean | ModelStorage | undefined;
  /** Called while a file is downloaded, with the bytes so far and in all; the latter is undefined while it is unknown. */
  readonly onDownload?: ((done: number, total: number | undefined) => void) | undefined;
}

/** What an input stands for: its files as paths, URLs or sources. */
export interface Located {
  readonly inputs: readonly GgufInput[];
  /** What should be known about how they are read. */
  readonly warnings: readonly string[];
}
