import { GgufError } from "../errors.ts";
import { shownPath } from "../shown.ts";
import type { ByteSource } from "./byteSource.ts";
import { OpenFile } from "./openFile.ts";
import { requireAll } from "./readRange.ts";
import { reasonOf } from "./systemError.ts";

/**
 * Bytes up to which a read does not wait for another thread. That takes longer than reading them from the system's cache, which reads ahead;
 * models have hundreds of small tensors.
 */
const smallBytes = 2 ** 20;

let registry: FinalizationRegistry<OpenFile> | undefined;

/** Closes files that were dropped without close(). */
function forgotten(): FinalizationRegistry<OpenFile> {
  // Created here, because a closure created next to a source would keep the source alive.
  registry ??= new FinalizationRegistry((file) => void file.close().catch(() => undefined));
  return registry;
}

/** Opens a file on disk (Node). @throws {GgufError} `io` if it cannot be opened or is not a regular file */
export async function pathSource(path: string | URL): Promise<ByteSource> {
  const file = await OpenFile.open(path).catch((cause: unknown) => {
    throw cannotOpen(String(path), reasonOf(cause), "check the path", cause);
  });
  const stat = file.stat();
  if (!stat.isFile()) {
    await file.close();
    throw cannotOpen(String(path), "it is not a regular file", "give the path of a .gguf file");
  }
  const readPart: ReadPart = async (target, done, offset) => {
    const length = target.length - done;
    if (target.length <= smallBytes) return file.readNow(target, done, length, offset + done);
    return file.read(target, done, length, offset + done);
  };
  const source: ByteSource = {
    size: stat.size,
    async read(offset, length, signal) {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, await fill(readPart, bytes, offset, signal));
    },
    async readInto(target, offset, signal) {
      requireAll(offset, target.length, await fill(readPart, target, offset, signal));
    },
    async close() {
      forgotten().unregister(source);
      await file.close();
    },
  };
  forgotten().register(source, file, source);
  return source;
}

/** Reads into `target` from its byte `done` on, and returns the number of bytes. `offset` is that of the first byte of `target` in the file. */
type ReadPart = (target: Uint8Array, done: number, offset: number) => Promise<number>;

/** Reads until `target` is full or the file ends. Returns the number of bytes. */
async function fill(readPart: ReadPart, target: Uint8Array, offset: number, signal: AbortSignal | undefined): Promise<number> {
  let done = 0;
  while (done < target.length) {
    signal?.throwIfAborted();
    const bytesRead = await readPart(target, done, offset);
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
