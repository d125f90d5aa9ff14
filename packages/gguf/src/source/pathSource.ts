import { GgufError } from "../errors.ts";
import { shownPath } from "../shown.ts";
import type { ByteSource } from "./byteSource.ts";
import { requireNodeModule } from "./nodeModule.ts";
import { reasonOf } from "./systemError.ts";

type Closable = { close(): Promise<void> };

let registry: FinalizationRegistry<Closable> | undefined;

/**
 * Closes files that nobody closed and nobody can read any more. Node would too when it collects them, with a warning, and from some
 * version on with an error.
 */
function forgotten(): FinalizationRegistry<Closable> {
  // Made here: a function that is made next to a source keeps it alive.
  registry ??= new FinalizationRegistry((handle) => void handle.close().catch(() => undefined));
  return registry;
}

/** A file of the disk (Node). @throws {GgufError} `io` if it cannot be opened or is no regular file */
export async function pathSource(path: string | URL): Promise<ByteSource> {
  const { open: openFile } = requireNodeModule("node:fs/promises", String(path));
  const handle = await openFile(path, "r").catch((cause: unknown) => {
    throw cannotOpen(String(path), reasonOf(cause), "check the path", cause);
  });
  const stat = await handle.stat();
  if (!stat.isFile()) {
    await handle.close();
    throw cannotOpen(String(path), "it is no regular file", "give the path of a .gguf file");
  }
  const source: ByteSource = {
    size: stat.size,
    async read(offset, length, signal) {
      const bytes = new Uint8Array(length);
      let done = 0;
      while (done < length) {
        signal?.throwIfAborted();
        const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return bytes.subarray(0, done);
    },
    async close() {
      forgotten().unregister(source);
      await handle.close();
    },
  };
  forgotten().register(source, handle, source);
  return source;
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
