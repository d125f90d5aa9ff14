import type { Library, Space } from "../memory/space.ts";
import type { ThreadPool } from "../threads/pool.ts";

/** A library of functions that were emitted, on its way to all threads. */
export class Linking {
  readonly #space: Space;
  readonly #library: Library;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #linked: Promise<void> | undefined;
  #isLoaded = false;
  #isShared = false;

  /** `bytes`: the module with the library's functions. */
  constructor(space: Space, library: Library, bytes: Uint8Array<ArrayBuffer>) {
    this.#space = space;
    this.#library = library;
    this.#bytes = bytes;
  }

  /** Whether this thread has the functions. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Whether the other threads have them too. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** Compiles the module and instantiates it on every thread, once. */
  link(pool: ThreadPool | undefined): Promise<void> {
    this.#linked ??= this.#link(pool);
    return this.#linked;
  }

  /**
   * {@link link} within the call; the other threads follow later. Browsers refuse it on a page's main thread where the module is
   * larger than a few kB.
   */
  linkSync(pool: ThreadPool | undefined): void {
    if (this.#isLoaded) return;
    const module = new WebAssembly.Module(this.#bytes);
    this.#library.loadSync(module);
    this.#isLoaded = true;
    this.#linked ??= this.#share(module, pool);
    // A pool that was lost is found out by whoever runs on it.
    this.#linked.catch(() => undefined);
  }

  async #link(pool: ThreadPool | undefined): Promise<void> {
    const module = await WebAssembly.compile(this.#bytes);
    // A call that could not wait may have loaded it meanwhile; a second instance of the same takes the first one's places.
    if (!this.#isLoaded) await this.#library.load(module);
    this.#isLoaded = true;
    await this.#share(module, pool);
  }

  async #share(module: WebAssembly.Module, pool: ThreadPool | undefined): Promise<void> {
    const { base, size } = this.#library;
    await pool?.load(this.#space, module, base, size);
    this.#isShared = true;
  }
}
