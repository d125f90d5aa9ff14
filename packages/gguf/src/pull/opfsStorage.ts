import type { OpfsFolder } from "./opfsFiles.ts";
import type { ModelStorage } from "./storage.ts";

/**
 * Stores models in the browser's origin private file system. Default: its folder `centella-models`. In a worker, bytes are stored as they
 * arrive, 4 MiB or 0.2 s at a time. In a page, the browser stores them when a download ends or stops, and copies the old bytes of a resumed
 * one.
 */
export async function opfsStorage(folder?: OpfsFolder): Promise<ModelStorage> {
  return (await import("./opfsFiles.ts")).openOpfs(folder);
}
