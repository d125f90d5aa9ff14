import { check, kind } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { pause } from "../http/http.ts";
import { hasMethods } from "../kinds.ts";
import { idleMs, type ReadableFile, StoredFile } from "./opfsSource.ts";
import type { ModelStorage, StorageWriter } from "./storage.ts";

/** The part of `FileSystemFileHandle` that is used. `createSyncAccessHandle` exists in workers only. */
interface OpfsFile extends ReadableFile {
  createWritable?(options: { readonly keepExistingData: boolean }): Promise<OpfsStream>;
  createSyncAccessHandle?(options?: { readonly mode: "read-only" }): Promise<OpfsAccess>;
  /** Safari requires the folder, too. */
  move?(folder: OpfsFolder, name: string): Promise<void>;
}

interface OpfsStream {
  seek(position: number): Promise<void>;
  truncate(size: number): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

interface OpfsAccess {
  truncate(size: number): void;
  read(bytes: Uint8Array, options: { readonly at: number }): number;
  write(bytes: Uint8Array, options: { readonly at: number }): number;
  flush(): void;
  close(): void;
}

/** The part of `FileSystemDirectoryHandle` that is used, in the origin private file system. */
export interface OpfsFolder {
  readonly name: string;
  keys(): AsyncIterable<string>;
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<OpfsFile>;
  removeEntry(name: string): Promise<void>;
}

const opfsFolder = kind(
  "a folder handle",
  (value) => hasMethods(value, ["keys", "getFileHandle", "removeEntry"]) && typeof (value as OpfsFolder).name === "string",
);

/** The storage that `opfsStorage` returns. */
export async function openOpfs(folder: OpfsFolder | undefined): Promise<ModelStorage> {
  if (folder !== undefined) check("opfsStorage", "folder", folder, opfsFolder);
  const root = folder ?? (await defaultFolder());
  const held = new Set<string>();
  const handleOf = (name: string): Promise<OpfsFile | undefined> =>
    root.getFileHandle(name).catch((error: unknown) => {
      if (isNamed(error, "NotFoundError")) return undefined;
      throw error;
    });
  return {
    location: `opfs:${root.name}`,
    async names() {
      const names: string[] = [];
      for await (const name of root.keys()) names.push(name);
      return names;
    },
    size: async (name) => (await (await handleOf(name))?.getFile())?.size,
    async input(name) {
      const handle = await root.getFileHandle(name);
      const blob = await handle.getFile();
      return handle.createSyncAccessHandle === undefined ? blob : new StoredFile(handle, blob);
    },
    async write(name, offset, size = offset) {
      const handle = await root.getFileHandle(name, { create: true });
      if (handle.move === undefined) throw unusable("a browser that can rename files", "one without move()");
      if (handle.createSyncAccessHandle !== undefined)
        return accessWriter(await whenUnused(name, async () => handle.createSyncAccessHandle!()), offset, size);
      if (handle.createWritable !== undefined) return streamWriter(await handle.createWritable({ keepExistingData: offset > 0 }), offset);
      throw unusable("a browser that can write files outside of workers", "one without createWritable()");
    },
    async rename(from, to) {
      // write() has checked that the browser supports move().
      await whenUnused(to, async () => (await root.getFileHandle(from)).move!(root, to));
    },
    async remove(name) {
      await whenUnused(name, () => root.removeEntry(name)).catch((error: unknown) => {
        if (!isNamed(error, "NotFoundError")) throw error;
      });
    },
    async freeBytes() {
      const { quota, usage } = (await globalThis.navigator?.storage?.estimate?.()) ?? {};
      return quota === undefined || usage === undefined ? undefined : quota - usage;
    },
    async lock(name) {
      if (held.has(name)) throw busy(name, "this page");
      held.add(name);
      try {
        const release = await webLock(`${root.name}/${name}`);
        if (release === undefined) throw busy(name, "another tab or worker");
        return {
          async release() {
            held.delete(name);
            release();
          },
        };
      } catch (error) {
        held.delete(name);
        throw error;
      }
    },
  };
}

/** @throws {GgufError} `storage` if the browser has no such file system, as in some private windows and in pages without HTTPS */
async function defaultFolder(): Promise<OpfsFolder> {
  const { storage } = globalThis.navigator ?? {};
  if (storage?.getDirectory === undefined) throw unusable("a browser with an origin private file system", "none here");
  try {
    const root = await storage.getDirectory();
    // Not every version of the DOM types has async iteration, so the interface above declares the members that are used.
    return (await root.getDirectoryHandle("centella-models", { create: true })) as FileSystemDirectoryHandle & OpfsFolder;
  } catch (cause) {
    throw unusable("access to the origin private file system", String(cause), cause);
  }
}

function unusable(expected: string, got: string, cause?: unknown): GgufError {
  return new GgufError("storage", { expected, got, hint: "use another browser or window, or pass a custom storage", cause });
}

/** Takes a lock between tabs. Without browser support, it always succeeds. */
async function webLock(name: string): Promise<(() => void) | undefined> {
  const locks = globalThis.navigator?.locks;
  if (locks === undefined) return () => undefined;
  return new Promise((resolve, reject) => {
    locks
      .request(`centella:${name}`, { ifAvailable: true }, (lock) => {
        if (lock === null) {
          resolve(undefined);
          return undefined;
        }
        return new Promise<void>((release) => resolve(() => release()));
      })
      .catch(reject);
  });
}

async function streamWriter(stream: OpfsStream, offset: number): Promise<StorageWriter> {
  await stream.truncate(offset);
  await stream.seek(offset);
  return {
    // WebKit writes the whole buffer of a view, so a part of a buffer is copied.
    write: (bytes) => stream.write(bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice()),
    close: () => stream.close(),
  };
}

/** Bytes that are written together. Some browsers deliver 64 KiB at a time, and each write takes a time of its own. */
const bufferBytes = 2 ** 22;

/** Longest time that bytes wait for others to be written with, in ms. Other tabs see a slow download grow, and a closed one loses little. */
const bufferMs = 200;

function accessWriter(access: OpfsAccess, offset: number, size: number): StorageWriter {
  try {
    // Memory for the file, which private windows keep there. Growing it with each write takes twice the time.
    access.truncate(size);
  } catch {
    // Without room, a write fails.
  }
  access.truncate(offset);
  return new AccessWriter(access, offset);
}

class AccessWriter implements StorageWriter {
  readonly #access: OpfsAccess;
  readonly #buffer = new Uint8Array(bufferBytes);
  #filled = 0;
  /** Bytes in the file. */
  #at: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Why the last write by the timer failed. */
  #failure: { readonly error: unknown } | undefined;

  constructor(access: OpfsAccess, offset: number) {
    this.#access = access;
    this.#at = offset;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#throwFailure();
    if (this.#filled + bytes.length > bufferBytes) this.#empty();
    if (bytes.length > bufferBytes) return this.#writeNow(bytes);
    this.#buffer.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#timer ??= setTimeout(() => this.#emptyLater(), bufferMs);
  }

  async close(): Promise<void> {
    try {
      this.#throwFailure();
      this.#empty();
      this.#access.flush();
    } finally {
      this.#access.close();
    }
  }

  #emptyLater(): void {
    try {
      this.#empty();
    } catch (error) {
      this.#failure = { error };
    }
  }

  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  #empty(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const bytes = this.#buffer.subarray(0, this.#filled);
    // After a failure, close() does not try again.
    this.#filled = 0;
    this.#writeNow(bytes);
  }

  #writeNow(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const written = this.#access.write(bytes.subarray(done), { at: this.#at });
      if (written === 0) throw new GgufError("quota", { expected: `room for ${bytes.length - done} bytes`, got: "none" });
      done += written;
      this.#at += written;
    }
  }
}

/** Most attempts at work on a file that another page or worker is reading. */
const attempts = 20;

/** Does work for which no handle of the file may be open. Those of readers close soon. @throws {GgufError} `busy` if one stays open */
async function whenUnused<T>(name: string, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isNamed(error, "NoModificationAllowedError")) throw error;
      if (attempt === attempts) throw busy(name, "another tab or worker", "a use of it");
      await pause(idleMs, undefined);
    }
  }
}

function busy(name: string, holder: string, use = "a download of it"): GgufError {
  const hint = "wait for it, then try again";
  return new GgufError("busy", { expected: `'${name}' to be free`, got: `${use} in progress in ${holder}`, hint });
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
