import { UnsupportedError } from "@centella/core";
import { ModuleBuilder } from "../emit/index.ts";
import type { Emitted } from "../kernel.ts";
import { aheadName } from "../linking/aheadName.ts";
import { Linking } from "../linking/linking.ts";
import { addressing } from "../linking/onDemand.ts";
import type { Target } from "../linking/target.ts";
import { Library, type Space } from "../memory/space.ts";
import type { ThreadPool } from "../threads/pool.ts";

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
  #linked: Linking | undefined;

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
      const before = builder.functions.length;
      define(builder, name, this.#target);
      for (const info of builder.functions.slice(before)) library.declare(info);
      fn = library.get(name);
      this.#functions.set(key, fn);
    }
    return fn;
  }

  /** Compiles the module and instantiates it on every thread. */
  async link(): Promise<void> {
    await this.#linking?.link(this.#pool);
  }

  /** {@link link} within the call; the other threads follow later. */
  linkSync(): void {
    this.#linking?.linkSync(this.#pool);
  }

  /** Whether the other threads have the functions too. */
  get isShared(): boolean {
    return this.#made === undefined || this.#linked?.isShared === true;
  }

  dispose(): void {
    if (this.#made === undefined) return;
    const { library, constants } = this.#made;
    if (this.#linked?.isLoaded === true) {
      if (this.#pool?.isLost === false) this.#pool.unload(this.#space, library.base, library.size).catch(() => undefined);
      library.unload();
    }
    this.#space.heap.free(constants);
  }

  get #linking(): Linking | undefined {
    if (this.#made === undefined) return undefined;
    const { builder, library } = this.#made;
    this.#linked ??= new Linking(this.#space, library, builder.build());
    return this.#linked;
  }

  get #parts(): { readonly builder: ModuleBuilder; readonly library: Library } {
    this.#made ??= this.#make();
    return this.#made;
  }

  #make(): { readonly builder: ModuleBuilder; readonly library: Library; readonly constants: number } {
    const { heap } = this.#space;
    const constants = heap.alloc(constantBytes, "arenas");
    const shared = typeof SharedArrayBuffer !== "undefined" && heap.memory.buffer instanceof SharedArrayBuffer;
    const builder = new ModuleBuilder({
      constants: { address: constants, bytes: constantBytes },
      shared,
      ...addressing(heap.memory64),
      hasTable: true,
    });
    return { builder, library: new Library(this.#space), constants };
  }
}
