import { halfToFloat } from "@centella/quant";
import { CustomKernels } from "./custom.ts";
import type { FunctionInfo } from "./emit/index.ts";
import { createMemory, Heap } from "./heap.ts";
import { memoryMap, mostPages, pageBytes } from "./memoryMap.ts";
import { Library, Space } from "./space.ts";
import type { ThreadPool } from "./threads/pool.ts";

/** The kernels, compiled. */
export interface CompiledKernels {
  readonly module: WebAssembly.Module;
  readonly functions: readonly FunctionInfo[];
}

/** What homes are made of. */
export interface HomeParts {
  /** The kernels for addresses of 32 or 64 bits. */
  kernels(memory64: boolean): Promise<CompiledKernels>;
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
  readonly #pool: ThreadPool | undefined;
  #plans = 0;

  private constructor(space: Space, library: Library, pool: ThreadPool | undefined) {
    this.space = space;
    this.library = library;
    this.custom = new CustomKernels(space.heap);
    this.#pool = pool;
  }

  /** Instantiates the kernels over a fresh memory, on every thread. @throws {OutOfMemoryError} where no addresses are left */
  static async open({ kernels, pool, maxPages, no64 }: HomeParts, memory64: boolean): Promise<Home> {
    const { module, functions } = await kernels(memory64);
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
    return new Home(space, library, pool);
  }

  get heap(): Heap {
    return this.space.heap;
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
