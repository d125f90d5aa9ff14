import { elementAt } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { pause } from "../http/http.ts";
import { type FileBytes, progressOf } from "./download.ts";
import type { RemoteFile } from "./hub.ts";
import type { ModelStorage, StorageLock } from "./storage.ts";

/** Interval at which a busy lock is tried again, in ms. */
const retryMs = 250;

/** Locks a model: the lock of its first file is that of all its files. @throws {GgufError} `busy` */
export function lockModel(storage: ModelStorage, files: readonly { readonly name: string }[]): Promise<StorageLock> {
  return storage.lock(elementAt(files, 0).name);
}

/**
 * Locks a model once no other caller holds its lock. Until then, `onWait` is called with what that caller has downloaded of each file.
 * @throws the signal's reason
 */
export async function lockModelWhenFree(
  storage: ModelStorage,
  files: readonly RemoteFile[],
  signal: AbortSignal | undefined,
  onWait: (files: readonly FileBytes[]) => void,
): Promise<StorageLock> {
  for (;;) {
    try {
      return await lockModel(storage, files);
    } catch (error) {
      if (!(error instanceof GgufError) || error.code !== "busy") throw error;
    }
    // The other caller may rename a file while it is read here.
    const unknown: FileBytes = { done: 0, total: undefined };
    onWait(await Promise.all(files.map((file) => progressOf(storage, file).catch(() => unknown))));
    signal?.throwIfAborted();
    await pause(retryMs, signal);
  }
}
