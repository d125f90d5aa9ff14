import { UnsupportedError } from "@centella/core";
import { aheadName } from "./ahead.ts";
import { ModuleBuilder } from "./emit/index.ts";
import type { Emitted, Kernel } from "./kernel.ts";
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
  readonly #included = new Set<Kernel["emit"]>();
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
      const { builder, library } = this.#parts;
      const name = `plan.${builder.functions.length}`;
      this.#define(() => define(builder, name, this.#target));
      fn = library.get(name);
      this.#functions.set(key, fn);
    }
    return fn;
  }

  /** Emits the functions of a kernel that are not among those of every plan. */
  include({ emit }: Kernel): void {
    if (emit === undefined || this.#ahead !== undefined || this.#included.has(emit)) return;
    this.#included.add(emit);
    this.#define((builder) => emit(builder, this.#target));
  }

  /** A function of a kernel that was included. @throws {RangeError} for another name */
  get(name: string): Emitted {
    return (this.#ahead ?? this.#parts.library).get(name);
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

  get #parts(): { readonly builder: ModuleBuilder; readonly library: Library } {
    this.#made ??= this.#make();
    return this.#made;
  }

  /** Declares what `emit` adds to the module. */
  #define(emit: (builder: ModuleBuilder) => void): void {
    const { builder, library } = this.#parts;
    const before = builder.functions.length;
    emit(builder);
    for (const info of builder.functions.slice(before)) library.declare(info);
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
