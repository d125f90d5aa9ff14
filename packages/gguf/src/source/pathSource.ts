import { GgufError } from "../errors.ts";
import { shownPath } from "../shown.ts";
import type { ByteSource } from "./byteSource.ts";
import { requireNodeModule } from "./nodeModule.ts";
import { requireAll } from "./readRange.ts";
import { reasonOf } from "./systemError.ts";

type Closable = { close(): Promise<void> };
type FileHandle = Awaited<ReturnType<typeof import("node:fs/promises").open>>;

let registry: FinalizationRegistry<Closable> | undefined;

/**
 * Closes files that were dropped without close(). Node does this too, but with a warning, and with an error in later versions.
 */
function forgotten(): FinalizationRegistry<Closable> {
  // Created here, because a closure created next to a source would keep the source alive.
  registry ??= new FinalizationRegistry((handle) => void handle.close().catch(() => undefined));
  return registry;
}

/** Opens a file on disk (Node). @throws {GgufError} `io` if it cannot be opened or is not a regular file */
export async function pathSource(path: string | URL): Promise<ByteSource> {
  const { open: openFile } = requireNodeModule("node:fs/promises", String(path));
  const handle = await openFile(path, "r").catch((cause: unknown) => {
    throw cannotOpen(String(path), reasonOf(cause), "check the path", cause);
  });
  const stat = await handle.stat();
  if (!stat.isFile()) {
    await handle.close();
    throw cannotOpen(String(path), "it is not a regular file", "give the path of a .gguf file");
  }
  const source: ByteSource = {
    size: stat.size,
    async read(offset, length, signal) {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, await fill(handle, bytes, offset, signal));
    },
    async readInto(target, offset, signal) {
      requireAll(offset, target.length, await fill(handle, target, offset, signal));
    },
    async close() {
      forgotten().unregister(source);
      await handle.close();
    },
  };
  forgotten().register(source, handle, source);
  return source;
}

/** Reads until `target` is full or the file ends. Returns the number of bytes. */
async function fill(handle: FileHandle, target: Uint8Array, offset: number, signal: AbortSignal | undefined): Promise<number> {
  let done = 0;
  while (done < target.length) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(target, done, target.length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

function cannotOpen(path: string, reason: string, hint: string, cause?: unknown): GgufError {
  return new GgufError("io", {
    expected: "a readable file",
    got: reason,
    summary: `cannot open '${shownPath(path)}': ${reason}`,
    hint,
    cause,
  });
}
