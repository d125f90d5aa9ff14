import { entryOf } from "@centella/core/backend";
import type { ModuleBuilder } from "../emit/index.ts";
import type { AnyKernel, Emitted } from "../kernel.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import { LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Target } from "../target.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { ModuleLink, moduleBuilderFor } from "./moduleLink.ts";

/** Defines functions. */
type Define = (module: ModuleBuilder, target: Target) => void;

/**
 * Links kernels' functions over one memory when plans first ask for them: a model calls a tenth of them. All functions
 * requested between two links form one module.
 */
export class KernelLinker {
  readonly #memory: WasmMemory;
  readonly #target: Target;
  readonly #builder: ModuleBuilder;
  readonly #included = new Set<AnyKernel["emit"]>();
  readonly #functions = new Map<string, Emitted>();
  /** Requested, not built yet. */
  #asked: LinkedModule | undefined;
  /** Built, not on all threads yet. */
  #linkings: readonly ModuleLink[] = [];

  /**
   * `define` defines the functions that every program may use. `constantBytes` bytes of constants are already in use.
   */
  constructor(memory: WasmMemory, target: Target, define: Define, constantBytes: number) {
    this.#memory = memory;
    this.#target = target;
    const { address, bytes } = memoryMap.constants;
    const constants = { address: address + constantBytes, bytes: bytes - constantBytes };
    this.#builder = moduleBuilderFor(memory.heap, { constants, isLazy: true });
    define(this.#builder, target);
  }

  /** Defines the functions of a lazily loaded kernel. */
  include({ emit }: Pick<AnyKernel, "emit">): void {
    if (emit === undefined || this.#included.has(emit)) return;
    this.#included.add(emit);
    emit(this.#builder, this.#target);
  }

  /**
   * Returns a function that can be called after the next link.
   * @throws {RangeError} for an undefined name
   */
  get(name: string): Emitted {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const before = this.#builder.functions.length;
    this.#builder.require(name);
    this.#asked ??= new LinkedModule(this.#memory);
    for (const info of this.#builder.functions.slice(before)) this.#functions.set(info.name, this.#asked.declare(info));
    return entryOf(this.#functions, name);
  }

  /** Makes requested functions available on this thread. */
  async load(): Promise<void> {
    this.#build();
    await Promise.all(this.#linkings.map((linking) => linking.load()));
  }

  /** {@link load} within the call. */
  loadSync(): void {
    this.#build();
    for (const linking of this.#linkings) linking.loadSync();
  }

  /** Makes requested functions available on every thread. */
  async share(pool: ThreadPool | undefined): Promise<void> {
    this.#build();
    await Promise.all(this.#linkings.map((linking) => linking.share(pool)));
  }

  /** Whether all threads have the requested functions. */
  get isShared(): boolean {
    return this.#asked === undefined && this.#linkings.every(({ isShared }) => isShared);
  }

  #build(): void {
    this.#linkings = this.#linkings.filter(({ isShared }) => !isShared);
    if (this.#asked === undefined) return;
    this.#linkings = [...this.#linkings, new ModuleLink(this.#memory, this.#asked, this.#builder.build())];
    this.#asked = undefined;
    this.#builder.next();
  }
}
