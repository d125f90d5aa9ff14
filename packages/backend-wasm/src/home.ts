import { halfToFloat } from "@centella/quant";
import { CustomKernels } from "./custom.ts";
import type { FunctionInfo } from "./emit/index.ts";
import { Heap } from "./heap.ts";
import { memoryMap, pageBytes } from "./memoryMap.ts";
import { Library, Space } from "./space.ts";
import type { ThreadPool } from "./threads/pool.ts";

/** What homes are made of. */
export interface HomeParts {
  readonly module: WebAssembly.Module;
  readonly functions: readonly FunctionInfo[];
  readonly pool: ThreadPool | undefined;
  readonly maxPages: number;
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
    this.custom = new CustomKernels(space.heap.memory);
    this.#pool = pool;
  }

  /** Instantiates the kernels over a fresh memory, on every thread. */
  static async open({ module, functions, pool, maxPages }: HomeParts): Promise<Home> {
    const initial = Math.ceil(memoryMap.heap / pageBytes);
    const memory = new WebAssembly.Memory({ initial, maximum: Math.max(initial, maxPages), shared: pool !== undefined });
    const heap = new Heap(memory, maxPages);
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
