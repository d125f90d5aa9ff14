import { halfToFloat } from "@centella/quant";
import { CustomKernels } from "../custom.ts";
import type { FunctionInfo } from "../emit/index.ts";
import type { Emitted, Kernel } from "../kernel.ts";
import type { KernelModules } from "../linking/kernelModules.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { createMemory, Heap } from "./heap.ts";
import { memoryMap, mostPages, pageBytes } from "./memoryMap.ts";
import { Library, Space } from "./space.ts";

/** What every home begins with, compiled: how lists are walked, and in some hosts all kernels. */
export interface CompiledKernels {
  readonly module: WebAssembly.Module;
  readonly functions: readonly FunctionInfo[];
  /** Bytes of constants. */
  readonly constantBytes: number;
}

/** What homes are made of. */
export interface HomeParts {
  /** The first module for addresses of 32 or 64 bits. */
  kernels(memory64: boolean): Promise<CompiledKernels>;
  /** What is emitted on demand besides, undefined where nothing can be compiled. */
  later(space: Space, constantBytes: number): KernelModules | undefined;
  readonly pool: ThreadPool | undefined;
  readonly maxPages: number;
  /** Why no home has 64-bit addresses, undefined where one can. */
  readonly no64: string | undefined;
}

/**
 * A memory with the kernels over it. Small plans share one; a model has one of its own, because WASM memory never shrinks: it goes as a
 * whole with the model's last plan.
 */
export class Home {
  readonly space: Space;
  readonly library: Library;
  readonly custom: CustomKernels;
  readonly #later: KernelModules | undefined;
  readonly #pool: ThreadPool | undefined;
  #plans = 0;

  private constructor(space: Space, library: Library, later: KernelModules | undefined, pool: ThreadPool | undefined) {
    this.space = space;
    this.library = library;
    this.#later = later;
    this.custom = new CustomKernels(space.heap);
    this.#pool = pool;
  }

  /** Instantiates the kernels over a fresh memory, on every thread. @throws {OutOfMemoryError} where no addresses are left */
  static async open({ kernels, later, pool, maxPages, no64 }: HomeParts, memory64: boolean): Promise<Home> {
    const { module, functions, constantBytes } = await kernels(memory64);
    const initial = Math.ceil(memoryMap.heap / pageBytes);
    const most = memory64 ? mostPages.memory64 : mostPages.memory32;
    const maximum = Math.max(initial, Math.min(maxPages, most));
    const memory = createMemory({ initial, maximum, shared: pool !== undefined, memory64 });
    const atMost = `maxMemoryMiB, at most ${(most * pageBytes) / 2 ** 20}`;
    const advice = memory64 ? atMost : `${atMost} with 32-bit addresses: ${no64 ?? "memory64: true gives all plans 64-bit ones"}`;
    const heap = new Heap(memory, maximum, { memory64, advice });
    const table = heap.f32.subarray(memoryMap.halfTable / 4, memoryMap.halfTable / 4 + 65_536);
    for (let h = 0; h < table.length; h++) table[h] = halfToFloat(h);
    const space = new Space(heap, pool?.size ?? 0);
    const library = new Library(space);
    for (const info of functions) library.declare(info);
    await library.load(module);
    if (pool?.isLost === false) await pool.load(space, module, library.base, library.size);
    return new Home(space, library, later(space, constantBytes), pool);
  }

  get heap(): Heap {
    return this.space.heap;
  }

  /** A kernel's function, which can be called after the next link. @throws {RangeError} for a name that no kernel defines */
  exports(name: string): Emitted {
    return this.library.has(name) || this.#later === undefined ? this.library.get(name) : this.#later.get(name);
  }

  /** Defines functions that were loaded after the others, once. */
  include(kernel: Pick<Kernel, "emit">): void {
    this.#later?.include(kernel);
  }

  /** Makes functions that were asked for ready on every thread. */
  async link(): Promise<void> {
    await this.#later?.link(this.#livePool);
  }

  /** {@link link} within the call; the other threads follow later. */
  linkSync(): void {
    this.#later?.linkSync(this.#livePool);
  }

  /** Whether all threads have the functions that were asked for. */
  get isShared(): boolean {
    return this.#later?.isShared !== false;
  }

  get #livePool(): ThreadPool | undefined {
    return this.#pool?.isLost === true ? undefined : this.#pool;
  }

  retain(): void {
    this.#plans++;
  }

  /** Whether this was the last plan. */
  release(): boolean {
    return --this.#plans === 0;
  }

  /** Lets go of the memory on every thread. */
  async drop(): Promise<void> {
    await this.#pool?.drop(this.space);
  }
}
