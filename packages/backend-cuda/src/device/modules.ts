import { isSpecificText } from "../ptx/text.ts";
import type { CodeCache } from "./codeCache.ts";
import type { CudaDriver, Handle } from "./driver.ts";
import { isCompilation } from "./errors.ts";

/** A kernel's text and how it is loaded. */
export interface KernelSource {
  readonly ptx: string;
  readonly entry: string;
  /** Dynamic shared memory. */
  readonly sharedBytes: number;
  /** Whether the text takes more registers than there are where it is compiled as a part of a larger program. Default: false. */
  readonly isWhole?: boolean;
  /** Whether it came with an op of the user's own. Default: false. */
  readonly isCustom?: boolean;
}

/**
 * Whether the driver compiles a kernel as a whole program when it loads it, and keeps the code itself. Code for a folder of ours comes from the
 * driver's linker, which treats a text as a part of a larger program: it ignores `setmaxnreg`, spills registers, and may let products of a warpgroup
 * wait for each other (C7504, C7509 and C7512 of `ptxas -c`).
 */
export function isWholeProgram({ ptx, isWhole = false }: KernelSource): boolean {
  return isWhole || isSpecificText(ptx);
}

interface Entry {
  readonly loading: Promise<Handle>;
  /** Once it is loaded. */
  module: Handle | undefined;
  kernel: Handle | undefined;
  users: number;
}

// Unused modules are kept for a while: compiling takes 20 to 100 ms, a loaded module takes about 10 KB.
const maxUnused = 512;

/** Most loads at once: each takes up to 150 MB while it compiles. */
const mostLoads = 12;

/** Loads at once. Each takes a processor, and one is left to read the weights meanwhile. */
function maxLoads(): number {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  return Math.max(1, Math.min(mostLoads, (navigator?.hardwareConcurrency ?? 4) - 1));
}

/** Compiled modules, one kernel each, once per text. */
export class ModuleCache {
  readonly #driver: CudaDriver;
  readonly #codes: CodeCache | undefined;
  /** Least recently acquired first. */
  readonly #entries = new Map<string, Entry>();
  readonly #maxLoads = maxLoads();
  #loads = 0;
  /** Starts a load that waits, oldest first. */
  readonly #waiting: (() => void)[] = [];

  /** Without `codes`, the driver compiles every text, unless it keeps code of its own. */
  constructor(driver: CudaDriver, codes: CodeCache | undefined) {
    this.#driver = driver;
    this.#codes = codes;
  }

  /** The kernel of a module's text; return it with {@link release}. @throws {DriverError} */
  async acquire(source: KernelSource): Promise<Handle> {
    const { ptx, entry, sharedBytes } = source;
    const found = this.#use(ptx, () => ({ loading: this.#inTurn(() => this.#load(source)), module: undefined }));
    try {
      found.module = await found.loading;
      found.kernel ??= this.#driver.kernel(found.module, entry, sharedBytes);
      return found.kernel;
    } catch (error) {
      this.#drop(ptx, found);
      throw error;
    }
  }

  /** The same on the caller's thread; while no module is being loaded. @throws {DriverError} */
  acquireSync(source: KernelSource): Handle {
    const { ptx, entry, sharedBytes } = source;
    const found = this.#use(ptx, () => {
      const module = this.#loadSync(source);
      return { loading: Promise.resolve(module), module };
    });
    try {
      if (found.module === undefined) throw new Error("cuda: expected no module to be loading");
      found.kernel ??= this.#driver.kernel(found.module, entry, sharedBytes);
      return found.kernel;
    } catch (error) {
      this.#drop(ptx, found);
      throw error;
    }
  }

  /** @throws {DriverError} if a module that falls out of the cache cannot be unloaded */
  release(ptx: string): void {
    const entry = this.#entries.get(ptx);
    if (entry === undefined) return;
    entry.users--;
    const unused = [...this.#entries].filter(([, { users }]) => users === 0);
    for (const [text, { module }] of unused.slice(0, Math.max(0, unused.length - maxUnused))) {
      this.#entries.delete(text);
      // Unused modules are loaded.
      this.#driver.unloadModule(module!);
    }
  }

  /** Unloads everything. */
  async clear(): Promise<void> {
    await this.#codes?.settled();
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { loading } of entries) this.#driver.unloadModule(await loading);
  }

  /** Resolves when all modules that were asked for are loaded or loading, and another one would load at once. */
  async room(): Promise<void> {
    await this.#inTurn(async () => undefined);
  }

  /** Does the work of a load when its turn comes. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#loads >= this.#maxLoads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#loads++;
    try {
      return await work();
    } finally {
      this.#loads--;
      this.#waiting.shift()?.();
    }
  }

  async #load(source: KernelSource): Promise<Handle> {
    const { ptx, entry } = source;
    const codes = this.#codesFor(source);
    if (codes === undefined) return this.#driver.loadModule(ptx, entry);
    const kept = await codes.read(ptx);
    if (kept !== undefined) {
      try {
        return await this.#driver.loadModule(kept, entry);
      } catch (error) {
        if (!isCompilation(error)) throw error;
      }
    }
    const code = await this.#driver.compile(ptx);
    codes.write(ptx, code);
    return this.#driver.loadModule(code, entry);
  }

  #loadSync(source: KernelSource): Handle {
    const { ptx, entry } = source;
    const codes = this.#codesFor(source);
    if (codes === undefined) return this.#driver.loadModuleSync(ptx, entry);
    const kept = codes.readSync(ptx);
    if (kept !== undefined) {
      try {
        return this.#driver.loadModuleSync(kept, entry);
      } catch (error) {
        if (!isCompilation(error)) throw error;
      }
    }
    const code = this.#driver.compileSync(ptx);
    codes.write(ptx, code);
    return this.#driver.loadModuleSync(code, entry);
  }

  /** Where the code of a kernel is kept; undefined if the driver compiles it when it loads it. */
  #codesFor(source: KernelSource): CodeCache | undefined {
    return isWholeProgram(source) ? undefined : this.#codes;
  }

  #use(ptx: string, load: () => Pick<Entry, "loading" | "module">): Entry {
    const entry = this.#entries.get(ptx) ?? { ...load(), kernel: undefined, users: 0 };
    this.#entries.delete(ptx);
    this.#entries.set(ptx, entry);
    entry.users++;
    return entry;
  }

  #drop(ptx: string, entry: Entry): void {
    entry.users--;
    if (this.#entries.get(ptx) === entry) this.#entries.delete(ptx);
  }
}
