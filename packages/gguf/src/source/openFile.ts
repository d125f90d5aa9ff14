import { DisposedError } from "../errors.ts";
import { requireNodeModule } from "./nodeModule.ts";

/** A file on disk, open for reading. It is no `FileHandle` of Node: loading `node:fs/promises` takes more than a millisecond. */
export class OpenFile {
  readonly #fs: typeof import("node:fs");
  readonly #descriptor: number;
  /** Reads on other threads. They end before the file is closed, because another file may then get its descriptor. */
  readonly #reads = new Set<Promise<number>>();
  #closed: Promise<void> | undefined;

  private constructor(fs: typeof import("node:fs"), descriptor: number) {
    this.#fs = fs;
    this.#descriptor = descriptor;
  }

  /** Opens a file. Rejects with the system's error. */
  static open(path: string | URL): Promise<OpenFile> {
    const fs = requireNodeModule("node:fs", String(path));
    return new Promise((resolve, reject) => {
      fs.open(path, "r", (error, descriptor) => (error === null ? resolve(new OpenFile(fs, descriptor)) : reject(error)));
    });
  }

  /** Size and kind of the file. */
  stat(): { readonly size: number; isFile(): boolean } {
    return this.#fs.fstatSync(this.#descriptor);
  }

  /**
   * Reads up to `length` bytes from `position` of the file to `at` of the target. Returns their number, which is 0 at the end of the file.
   * @throws {DisposedError} after {@link close}, or the system's error
   */
  readNow(target: Uint8Array, at: number, length: number, position: number): number {
    this.#requireOpen();
    return this.#fs.readSync(this.#descriptor, target, at, length, position);
  }

  /** Like {@link readNow}, on another thread. */
  async read(target: Uint8Array, at: number, length: number, position: number): Promise<number> {
    this.#requireOpen();
    const reading = new Promise<number>((resolve, reject) => {
      this.#fs.read(this.#descriptor, target, at, length, position, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
    });
    this.#reads.add(reading);
    return reading.finally(() => this.#reads.delete(reading));
  }

  /** Closes the file after the reads that have begun. */
  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#reads).then(() => this.#fs.closeSync(this.#descriptor));
    return this.#closed;
  }

  #requireOpen(): void {
    if (this.#closed !== undefined) throw new DisposedError("file", "close()");
  }
}
