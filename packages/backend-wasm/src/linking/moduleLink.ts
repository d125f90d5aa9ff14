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
  #loaded: Promise<void> | undefined;
  #shared: Promise<void> | undefined;
  /** The compiled module. Undefined until this thread has its functions. */
  #module: WebAssembly.Module | undefined;
  #isShared = false;

  /** `bytes` is the module in binary form. */
  constructor(memory: WasmMemory, linkedModule: LinkedModule, bytes: Uint8Array<ArrayBuffer>) {
    this.#memory = memory;
    this.#linkedModule = linkedModule;
    this.#bytes = bytes;
  }

  /** Whether this thread has the functions. */
  get isLoaded(): boolean {
    return this.#module !== undefined;
  }

  /** Whether the other threads have them, or are about to. */
  get isSharing(): boolean {
    return this.#shared !== undefined;
  }

  /** Whether the other threads have them. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** Compiles the module and instantiates it on this thread, once. */
  load(): Promise<void> {
    this.#loaded ??= this.#load();
    return this.#loaded;
  }

  /** {@link load} within the call. Browsers refuse modules above a few kB on a page's main thread. */
  loadSync(): void {
    if (this.#module !== undefined) return;
    const module = new WebAssembly.Module(this.#bytes);
    this.#linkedModule.loadSync(module);
    this.#module = module;
  }

  /** {@link load}, then instantiates the module on the other threads, once. */
  async share(pool: ThreadPool | undefined): Promise<void> {
    if (this.#module === undefined) await this.load();
    this.#shared ??= this.#share(pool);
    await this.#shared;
  }

  async #load(): Promise<void> {
    const module = await WebAssembly.compile(this.#bytes);
    // `loadSync` may have loaded it meanwhile. A second instance takes the same table slots.
    if (this.#module !== undefined) return;
    await this.#linkedModule.load(module);
    this.#module ??= module;
  }

  async #share(pool: ThreadPool | undefined): Promise<void> {
    const { base, size } = this.#linkedModule;
    if (this.#module !== undefined) await pool?.load(this.#memory, this.#module, base, size);
    this.#isShared = true;
  }
}
