import { ModuleBuilder, type ModuleOptions } from "../emit/index.ts";
import type { Heap } from "../memory/heap.ts";
import type { LinkedModule, WasmMemory } from "../memory/wasmMemory.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { lazyPart } from "./lazyParts.ts";

/**
 * Starts a module whose functions step lists can call. A memory with 64-bit addresses requires the lazy part
 * "widening".
 */
export function moduleBuilderFor(
  { isShared, memory64 }: Pick<Heap, "isShared" | "memory64">,
  options: Pick<ModuleOptions, "constants" | "isLazy">,
): ModuleBuilder {
  const addressing = memory64 ? { memory64: lazyPart("widening").Widening } : {};
  return new ModuleBuilder({ ...options, ...addressing, shared: isShared, hasTable: true });
}

/** A module of emitted functions, on its way to all threads. */
export class ModuleLink {
  readonly #memory: WasmMemory;
  readonly #linkedModule: LinkedModule;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #linked: Promise<void> | undefined;
  #isLoaded = false;
  #isShared = false;

  /** `bytes` is the module in binary form. */
  constructor(memory: WasmMemory, linkedModule: LinkedModule, bytes: Uint8Array<ArrayBuffer>) {
    this.#memory = memory;
    this.#linkedModule = linkedModule;
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
   * {@link link} within the call; the other threads follow later. Browsers refuse modules above a few kB on a page's
   * main thread.
   */
  linkSync(pool: ThreadPool | undefined): void {
    if (this.#isLoaded) return;
    const module = new WebAssembly.Module(this.#bytes);
    this.#linkedModule.loadSync(module);
    this.#isLoaded = true;
    this.#linked ??= this.#share(module, pool);
    // The next run finds out that the pool was lost.
    this.#linked.catch(() => undefined);
  }

  async #link(pool: ThreadPool | undefined): Promise<void> {
    const module = await WebAssembly.compile(this.#bytes);
    // `linkSync` may have loaded it meanwhile. A second instance takes the same table slots.
    if (!this.#isLoaded) await this.#linkedModule.load(module);
    this.#isLoaded = true;
    await this.#share(module, pool);
  }

  async #share(module: WebAssembly.Module, pool: ThreadPool | undefined): Promise<void> {
    const { base, size } = this.#linkedModule;
    await pool?.load(this.#memory, module, base, size);
    this.#isShared = true;
  }
}
