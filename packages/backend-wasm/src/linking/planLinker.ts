import { UnsupportedError } from "@centella/core";
import type { ModuleBuilder } from "../emit/index.ts";
import type { Emitted } from "../kernel.ts";
import { LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Target } from "../target.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { ModuleLink, moduleBuilderFor } from "./moduleLink.ts";

/** Bytes for the constants of a plan's functions. */
const constantBytes = 4096;

/** Name in `base.wasm` of the function that plans request by `key`. */
export function precompiledName(key: string): string {
  return `plan ${key}`;
}

/** Links the functions that are emitted for one plan, in a module of their own. */
export class PlanLinker {
  readonly #memory: WasmMemory;
  readonly #target: Target;
  readonly #pool: ThreadPool | undefined;
  readonly #precompiled: LinkedModule | undefined;
  readonly #functions = new Map<string, Emitted>();
  #made: { readonly builder: ModuleBuilder; readonly linkedModule: LinkedModule; readonly constants: number } | undefined;
  #linked: ModuleLink | undefined;

  /** With `precompiled`, functions are looked up there and nothing is compiled. */
  constructor(memory: WasmMemory, target: Target, pool: ThreadPool | undefined, precompiled?: LinkedModule) {
    this.#memory = memory;
    this.#target = target;
    this.#pool = pool;
    this.#precompiled = precompiled;
  }

  /** Returns the function of a key, emitted at the first request. */
  emit(key: string, define: (module: ModuleBuilder, name: string, target: Target) => void): Emitted {
    if (this.#precompiled !== undefined) {
      if (!this.#precompiled.has(precompiledName(key))) throw new UnsupportedError("wasm", `${key} is not in the precompiled module`);
      return this.#precompiled.get(precompiledName(key));
    }
    let fn = this.#functions.get(key);
    if (fn === undefined) {
      const { builder, linkedModule } = this.#parts;
      const name = `plan.${builder.functions.length}`;
      const before = builder.functions.length;
      define(builder, name, this.#target);
      for (const info of builder.functions.slice(before)) linkedModule.declare(info);
      fn = linkedModule.get(name);
      this.#functions.set(key, fn);
    }
    return fn;
  }

  /** Compiles the module and instantiates it on this thread. */
  async load(): Promise<void> {
    await this.#linking?.load();
  }

  /** {@link load} within the call. */
  loadSync(): void {
    this.#linking?.loadSync();
  }

  /** {@link load}, then instantiates the module on the other threads. */
  async share(): Promise<void> {
    await this.#linking?.share(this.#pool);
  }

  /** Whether the other threads have the functions too. */
  get isShared(): boolean {
    return this.#made === undefined || this.#linked?.isShared === true;
  }

  dispose(): void {
    if (this.#made === undefined) return;
    const { linkedModule, constants } = this.#made;
    const free = (): void => this.#memory.heap.free(constants);
    const { isLoaded = false, isSharing = false, isShared = false } = this.#linked ?? {};
    if (isLoaded) linkedModule.unload();
    const unloaded = isSharing ? this.#pool?.unload(this.#memory, linkedModule.base, linkedModule.size) : undefined;
    // Threads write the constants when they instantiate the module, which they may not have done yet.
    if (unloaded !== undefined && !isShared) unloaded.then(free, free);
    else free();
    unloaded?.catch(() => undefined);
  }

  get #linking(): ModuleLink | undefined {
    if (this.#made === undefined) return undefined;
    const { builder, linkedModule } = this.#made;
    this.#linked ??= new ModuleLink(this.#memory, linkedModule, builder.build());
    return this.#linked;
  }

  get #parts(): { readonly builder: ModuleBuilder; readonly linkedModule: LinkedModule } {
    this.#made ??= this.#make();
    return this.#made;
  }

  #make(): { readonly builder: ModuleBuilder; readonly linkedModule: LinkedModule; readonly constants: number } {
    const { heap } = this.#memory;
    const constants = heap.alloc(constantBytes, "arenas");
    const builder = moduleBuilderFor(heap, { constants: { address: constants, bytes: constantBytes } });
    return { builder, linkedModule: new LinkedModule(this.#memory), constants };
  }
}
