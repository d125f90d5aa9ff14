import { CustomKernels } from "../custom.ts";
import type { FunctionInfo } from "../emit/index.ts";
import type { AnyKernel, Emitted } from "../kernel.ts";
import type { KernelLinker } from "../linking/kernelLinker.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { createMemory, Heap } from "./heap.ts";
import { engineMaxPages, memoryMap, pageBytes } from "./memoryMap.ts";
import { LinkedModule, WasmMemory } from "./wasmMemory.ts";

/** The first module of every memory, compiled: the stage runner, and in some hosts all kernels. */
export interface CompiledKernels {
  readonly module: WebAssembly.Module;
  readonly functions: readonly FunctionInfo[];
  /** Bytes of constants. */
  readonly constantBytes: number;
}

/** What memories are opened with. */
export interface MemoryParts {
  /** The first module, for 32-bit or 64-bit addresses. */
  kernels(memory64: boolean): Promise<CompiledKernels>;
  /** Links further functions. Undefined if the host compiles nothing else. */
  kernelLinker(memory: WasmMemory, constantBytes: number): KernelLinker | undefined;
  readonly pool: ThreadPool | undefined;
  readonly maxPages: number;
  /** Why no memory has 64-bit addresses, or undefined if one can. */
  readonly no64: string | undefined;
}

/**
 * A memory and the modules over it. Small plans share one. A model has its own, because WASM memory never shrinks: it
 * is freed as a whole with the model's last plan.
 */
export class MemoryInstance {
  readonly memory: WasmMemory;
  readonly baseModule: LinkedModule;
  readonly custom: CustomKernels;
  readonly #kernelLinker: KernelLinker | undefined;
  readonly #pool: ThreadPool | undefined;
  /** Loads the first module on the other threads. */
  readonly #loadOnThreads: () => Promise<void>;
  #sharing: Promise<void> | undefined;
  #isShared = false;
  #plans = 0;

  private constructor(
    memory: WasmMemory,
    baseModule: LinkedModule,
    kernelLinker: KernelLinker | undefined,
    pool: ThreadPool | undefined,
    loadOnThreads: () => Promise<void>,
  ) {
    this.memory = memory;
    this.baseModule = baseModule;
    this.#kernelLinker = kernelLinker;
    this.custom = new CustomKernels(memory.heap);
    this.#pool = pool;
    this.#loadOnThreads = loadOnThreads;
  }

  /**
   * Instantiates the first module over a new memory, on this thread.
   * @throws {OutOfMemoryError} if the address space is exhausted
   */
  static async open({ kernels, kernelLinker, pool, maxPages, no64 }: MemoryParts, memory64: boolean): Promise<MemoryInstance> {
    const { module, functions, constantBytes } = await kernels(memory64);
    const initial = Math.ceil(memoryMap.heap / pageBytes);
    const most = memory64 ? engineMaxPages.memory64 : engineMaxPages.memory32;
    const maximum = Math.max(initial, Math.min(maxPages, most));
    const raw = createMemory({ initial, maximum, shared: pool !== undefined, memory64 });
    const atMost = `maxMemoryMiB, at most ${(most * pageBytes) / 2 ** 20}`;
    const advice = memory64 ? atMost : `${atMost} with 32-bit addresses: ${no64 ?? "memory64: true gives all plans 64-bit ones"}`;
    const heap = new Heap(raw, maximum, { memory64, advice });
    const memory = new WasmMemory(heap, pool?.size ?? 0);
    const baseModule = new LinkedModule(memory);
    for (const info of functions) baseModule.declare(info);
    await baseModule.load(module);
    baseModule.get("halfTable")(memoryMap.halfTable);
    const loadOnThreads = async (): Promise<void> => pool?.load(memory, module, baseModule.base, baseModule.size);
    return new MemoryInstance(memory, baseModule, kernelLinker(memory, constantBytes), pool, loadOnThreads);
  }

  get heap(): Heap {
    return this.memory.heap;
  }

  /**
   * Returns a kernel's function, which can be called after the next link.
   * @throws {RangeError} for a name that no kernel defines
   */
  exports(name: string): Emitted {
    return this.baseModule.has(name) || this.#kernelLinker === undefined ? this.baseModule.get(name) : this.#kernelLinker.get(name);
  }

  /** {@link exports} for a function that is emitted when it is first called or recorded. */
  onDemand(name: string): Emitted {
    return this.baseModule.has(name) || this.#kernelLinker === undefined ? this.exports(name) : this.#kernelLinker.onDemand(name);
  }

  /** Defines the functions of a lazily loaded kernel, once. */
  include(kernel: Pick<AnyKernel, "emit">): void {
    this.#kernelLinker?.include(kernel);
  }

  /** Gives requested functions their table slots. */
  build(): void {
    this.#kernelLinker?.build();
  }

  /** Makes requested functions available on this thread. */
  async load(): Promise<void> {
    await this.#kernelLinker?.load();
  }

  /** {@link load} within the call. */
  loadSync(): void {
    this.#kernelLinker?.loadSync();
  }

  /** Makes requested functions available on every thread. */
  async share(): Promise<void> {
    this.#sharing ??= this.#share();
    await Promise.all([this.#sharing, this.#kernelLinker?.share(this.#livePool)]);
  }

  async #share(): Promise<void> {
    await this.#loadOnThreads();
    this.#isShared = true;
  }

  /** Whether all threads run modules over this memory. They may lack functions that were requested later. */
  get isSharing(): boolean {
    return this.#isShared;
  }

  /** Whether all threads have the requested functions. */
  get isShared(): boolean {
    return this.#isShared && this.#kernelLinker?.isShared !== false;
  }

  get #livePool(): ThreadPool | undefined {
    return this.#pool?.isLost === true ? undefined : this.#pool;
  }

  retain(): void {
    this.#plans++;
  }

  /** Returns whether this was the last plan. */
  release(): boolean {
    return --this.#plans === 0;
  }

  /** Releases the memory on every thread. */
  async drop(): Promise<void> {
    await this.#pool?.drop(this.memory);
  }
}
