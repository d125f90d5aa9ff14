import { UnsupportedError } from "@centella/core";
import { aheadName } from "./ahead.ts";
import { type FunctionInfo, ModuleBuilder } from "./emit/index.ts";
import type { Emitted } from "./kernel.ts";
import { Library, type Space } from "./space.ts";
import type { Target } from "./target.ts";
import type { ThreadPool } from "./threads/pool.ts";

/** Room for the constants of a plan's functions. */
const constantBytes = 4096;

/** The functions that are emitted for one plan, in a module of their own. */
export class PlanModule {
  readonly #space: Space;
  readonly #target: Target;
  readonly #pool: ThreadPool | undefined;
  readonly #ahead: Library | undefined;
  readonly #functions = new Map<string, Emitted>();
  #made: { readonly builder: ModuleBuilder; readonly library: Library; readonly constants: number } | undefined;
  #isLoaded = false;
  #isShared = false;

  /** With `ahead` every function must be there already, and nothing is compiled. */
  constructor(space: Space, target: Target, pool: ThreadPool | undefined, ahead?: Library) {
    this.#space = space;
    this.#target = target;
    this.#pool = pool;
    this.#ahead = ahead;
  }

  /** The function of a key, emitted by the first that asks. */
  emit(key: string, define: (module: ModuleBuilder, name: string, target: Target) => void): Emitted {
    if (this.#ahead !== undefined) {
      if (!this.#ahead.has(aheadName(key))) throw new UnsupportedError("wasm", `${key} was not compiled ahead`);
      return this.#ahead.get(aheadName(key));
    }
    let fn = this.#functions.get(key);
    if (fn === undefined) {
      this.#made ??= this.#make();
      const { builder, library } = this.#made;
      const before = builder.functions.length;
      const name = `plan.${before}`;
      define(builder, name, this.#target);
      for (const info of builder.functions.slice(before)) library.declare(info as FunctionInfo);
      fn = library.get(name);
      this.#functions.set(key, fn);
    }
    return fn;
  }

  /** Compiles the module and instantiates it on every thread. */
  async link(): Promise<void> {
    if (this.#made === undefined) return;
    const { builder, library } = this.#made;
    const module = await WebAssembly.compile(builder.build());
    await library.load(module);
    this.#isLoaded = true;
    await this.#share(module);
  }

  /**
   * {@link link} within the call; the other threads follow later. Browsers refuse it on a page's main thread where the module is
   * larger than a few kB.
   */
  linkSync(): void {
    if (this.#made === undefined) return;
    const { builder, library } = this.#made;
    const module = new WebAssembly.Module(builder.build());
    library.loadSync(module);
    this.#isLoaded = true;
    // A pool that was lost is found out by whoever runs on it.
    this.#share(module).catch(() => undefined);
  }

  /** Whether the other threads have the functions too. */
  get isShared(): boolean {
    return this.#made === undefined || this.#isShared;
  }

  async #share(module: WebAssembly.Module): Promise<void> {
    const { base, size } = this.#made!.library;
    await this.#pool?.load(this.#space, module, base, size);
    this.#isShared = true;
  }

  dispose(): void {
    if (this.#made === undefined) return;
    const { library, constants } = this.#made;
    if (this.#isLoaded) {
      if (this.#pool?.isLost === false) this.#pool.unload(this.#space, library.base, library.size).catch(() => undefined);
      library.unload();
    }
    this.#space.heap.free(constants);
  }

  #make(): { readonly builder: ModuleBuilder; readonly library: Library; readonly constants: number } {
    const { heap } = this.#space;
    const constants = heap.alloc(constantBytes, "arenas");
    const shared = typeof SharedArrayBuffer !== "undefined" && heap.memory.buffer instanceof SharedArrayBuffer;
    const builder = new ModuleBuilder({
      constants: { address: constants, bytes: constantBytes },
      shared,
      memory64: heap.memory64,
      hasTable: true,
    });
    return { builder, library: new Library(this.#space), constants };
  }
}
