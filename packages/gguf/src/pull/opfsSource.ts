import { GgufError } from "../errors.ts";
import type { ByteSource } from "../source/byteSource.ts";
import { openSource } from "../source/source.ts";

/** The part of `FileSystemFileHandle` that reads. `createSyncAccessHandle` exists in workers only. */
export interface ReadableFile {
  getFile(): Promise<File>;
  /** Browsers that do not know modes open every handle for writing: one at a time. */
  createSyncAccessHandle?(options?: { readonly mode: "read-only" }): Promise<ReadAccess>;
}

interface ReadAccess {
  read(bytes: Uint8Array, options: { readonly at: number }): number;
  close(): void;
}

/** Time after a read for which its handle stays open, in ms. While it is open, no page can rename or remove the file. */
export const idleMs = 100;

/**
 * A stored file, read by an access handle at the speed of memory: Blobs, which the browser's main process reads, take several times as
 * long. Where another page has the file's only handle, or the file has changed, the Blob is read.
 */
export class StoredFile implements ByteSource {
  readonly size: number;
  readonly #handle: ReadableFile;
  readonly #blob: File;
  #access: Promise<ReadAccess | undefined> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(handle: ReadableFile, blob: File) {
    this.size = blob.size;
    this.#handle = handle;
    this.#blob = blob;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    await this.readInto(bytes, offset);
    return bytes;
  }

  async readInto(target: Uint8Array, offset: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#access ??= this.#open();
    const access = await this.#access;
    if (access === undefined) {
      this.#access = undefined;
      target.set(await (await openSource(this.#blob)).read(offset, target.length));
      return;
    }
    for (let done = 0; done < target.length; ) {
      const count = access.read(target.subarray(done), { at: offset + done });
      if (count === 0) throw new GgufError("truncated", { expected: `${target.length} bytes`, got: String(done), offset });
      done += count;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.close(), idleMs);
  }

  /** Closes the handle. The next read opens it again. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const access = this.#access;
    this.#access = undefined;
    (await access)?.close();
  }

  /** Opens a handle, unless another file has taken the name: while the handle is open, none can. */
  async #open(): Promise<ReadAccess | undefined> {
    const access = await this.#handle.createSyncAccessHandle?.({ mode: "read-only" }).catch(() => undefined);
    const now = access && (await this.#handle.getFile().catch(() => undefined));
    if (now?.size === this.size && now.lastModified === this.#blob.lastModified) return access;
    access?.close();
    return undefined;
  }
}
