import type { CudaDriver, Handle } from "./driver.ts";

interface Entry {
  readonly module: Promise<Handle>;
  kernel: Handle | undefined;
  users: number;
}

// Compiling takes 20 to 100 ms, a loaded module some 10 KB: those that nobody uses are worth keeping for a while.
const maxUnused = 512;

/** Compiled modules, one kernel each, once per text. */
export class ModuleCache {
  readonly #driver: CudaDriver;
  /** Least recently acquired first. */
  readonly #entries = new Map<string, Entry>();

  constructor(driver: CudaDriver) {
    this.#driver = driver;
  }

  /** The kernel of a module's text; hand it back with {@link release}. @throws {DriverError} */
  async acquire(ptx: string, entry: string, sharedBytes: number): Promise<Handle> {
    const found = this.#entries.get(ptx) ?? { module: this.#driver.loadModule(ptx), kernel: undefined, users: 0 };
    this.#entries.delete(ptx);
    this.#entries.set(ptx, found);
    found.users++;
    try {
      const module = await found.module;
      found.kernel ??= this.#driver.kernel(module, entry, sharedBytes);
      return found.kernel;
    } catch (error) {
      found.users--;
      if (this.#entries.get(ptx) === found) this.#entries.delete(ptx);
      throw error;
    }
  }

  /** @throws {DriverError} if a module that falls out of the cache cannot be unloaded */
  async release(ptx: string): Promise<void> {
    const entry = this.#entries.get(ptx);
    if (entry === undefined) return;
    entry.users--;
    const unused = [...this.#entries].filter(([, { users }]) => users === 0);
    for (const [text, { module }] of unused.slice(0, Math.max(0, unused.length - maxUnused))) {
      this.#entries.delete(text);
      this.#driver.unloadModule(await module);
    }
  }

  /** Unloads everything. */
  async clear(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { module } of entries) this.#driver.unloadModule(await module);
  }
}
