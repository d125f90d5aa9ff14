import { ModuleBuilder } from "./emit/index.ts";
import type { Heap } from "./heap.ts";
import type { Emitted } from "./kernel.ts";
import type { Target } from "./target.ts";

/** Room for the constants of a plan's functions. */
const constantBytes = 4096;

/** The functions that are emitted for one plan, in a module of their own. */
export class PlanModule {
  readonly #heap: Heap;
  readonly #target: Target;
  readonly #functions = new Map<string, Emitted>();
  #made: { readonly builder: ModuleBuilder; readonly constants: number } | undefined;
  #exports: WebAssembly.Exports = {};

  constructor(heap: Heap, target: Target) {
    this.#heap = heap;
    this.#target = target;
  }

  /** The function of a key, emitted by the first that asks. It can be called once the module is linked. */
  emit(key: string, define: (module: ModuleBuilder, name: string, target: Target) => void): Emitted {
    let fn = this.#functions.get(key);
    if (fn === undefined) {
      this.#made ??= this.#make();
      const name = `plan.${this.#functions.size}`;
      define(this.#made.builder, name, this.#target);
      fn = (...args) => (this.#exports[name] as Emitted)(...args);
      this.#functions.set(key, fn);
    }
    return fn;
  }

  async link(): Promise<void> {
    if (this.#made === undefined) return;
    const { memory } = this.#heap;
    const { instance } = await WebAssembly.instantiate(this.#made.builder.build(), { env: { memory } });
    this.#exports = instance.exports;
  }

  dispose(): void {
    if (this.#made !== undefined) this.#heap.free(this.#made.constants);
  }

  #make(): { readonly builder: ModuleBuilder; readonly constants: number } {
    const constants = this.#heap.alloc(constantBytes, "arenas");
    const shared = typeof SharedArrayBuffer !== "undefined" && this.#heap.memory.buffer instanceof SharedArrayBuffer;
    return { builder: new ModuleBuilder({ constants: { address: constants, bytes: constantBytes }, shared }), constants };
  }
}
