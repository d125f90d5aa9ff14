import { expect } from "vitest";
import type { OpfsFolder } from "../src/index.ts";

/** Content of a file. Files of equal length differ in their time. */
interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lastModified: number;
}

type OpenFile = Awaited<ReturnType<OpfsFolder["getFileHandle"]>>;
type Access = Awaited<ReturnType<NonNullable<OpenFile["createSyncAccessHandle"]>>>;

/** Most bytes that an access handle reads at a time. */
const mostBytes = 10_000;

/** The part of the origin private file system that is used; with access handles, as in workers, or streams that store when closed. */
export class FakeFolder implements OpfsFolder {
  readonly name = "models";
  readonly files = new Map<string, Content>();
  /** Names of files with an open access handle. */
  readonly open = new Set<string>();
  /** Lengths of the writes by access handles. */
  readonly writes: number[] = [];
  /** Number of reads by access handles. */
  reads = 0;
  /** Largest size that a file was given by an access handle. */
  largest = 0;
  /** Room for bytes by access handles. */
  room = Number.POSITIVE_INFINITY;
  readonly #isWorker: boolean;
  #time = 0;

  constructor(isWorker: boolean) {
    this.#isWorker = isWorker;
  }

  bytesOf(name: string): Uint8Array<ArrayBuffer> {
    const content = this.files.get(name);
    if (content === undefined) throw new DOMException("none", "NotFoundError");
    return content.bytes;
  }

  put(name: string, bytes: Uint8Array<ArrayBuffer>): void {
    this.files.set(name, { bytes, lastModified: this.#time++ });
  }

  async *keys(): AsyncGenerator<string> {
    yield* [...this.files.keys()];
  }

  async removeEntry(name: string): Promise<void> {
    this.#requireUnused(name);
    if (!this.files.delete(name)) throw new DOMException("none", "NotFoundError");
  }

  async getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<OpenFile> {
    if (!this.files.has(name)) {
      if (options?.create !== true) throw new DOMException("none", "NotFoundError");
      this.put(name, new Uint8Array(0));
    }
    return {
      getFile: async () => new File([this.bytesOf(name).slice()], name, { lastModified: this.files.get(name)!.lastModified }),
      // As WebKit's, which requires the folder.
      move: async (folder, to) => {
        expect(folder).toBe(this);
        this.#requireUnused(name);
        this.#requireUnused(to);
        this.files.set(to, this.files.get(name)!);
        this.files.delete(name);
      },
      createWritable: async ({ keepExistingData }) => this.#stream(name, keepExistingData),
      ...(this.#isWorker && { createSyncAccessHandle: async () => this.#access(name) }),
    };
  }

  #stream(name: string, keepsData: boolean): Awaited<ReturnType<NonNullable<OpenFile["createWritable"]>>> {
    let bytes = keepsData ? this.bytesOf(name) : new Uint8Array(0);
    let position = 0;
    return {
      seek: async (to) => {
        position = to;
      },
      truncate: async (size) => {
        bytes = resized(bytes, size);
      },
      write: async (data) => {
        // WebKit's write the whole buffer of a view.
        const whole = new Uint8Array(data.buffer);
        bytes = withData(bytes, whole, position);
        position += whole.length;
      },
      close: async () => this.put(name, bytes),
    };
  }

  #access(name: string): Access {
    this.#requireUnused(name);
    this.bytesOf(name);
    this.open.add(name);
    return {
      truncate: (size) => {
        const bytes = this.bytesOf(name);
        if (size > bytes.length + this.room) throw new DOMException("no room", "QuotaExceededError");
        this.largest = Math.max(this.largest, size);
        this.put(name, resized(bytes, size));
      },
      read: (target, { at }) => {
        this.reads++;
        const part = this.bytesOf(name).subarray(at, at + Math.min(mostBytes, target.length));
        target.set(part);
        return part.length;
      },
      write: (data, { at }) => {
        const part = data.subarray(0, this.room);
        this.writes.push(data.length);
        this.room -= part.length;
        this.put(name, withData(this.bytesOf(name), part, at));
        return part.length;
      },
      flush: () => undefined,
      close: () => void this.open.delete(name),
    };
  }

  #requireUnused(name: string): void {
    if (this.open.has(name)) throw new DOMException("in use", "NoModificationAllowedError");
  }
}

function withData(bytes: Uint8Array, data: Uint8Array, at: number): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(Math.max(bytes.length, at + data.length));
  grown.set(bytes);
  grown.set(data, at);
  return grown;
}

const resized = (bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> => withData(bytes.slice(0, size), new Uint8Array(0), size);
