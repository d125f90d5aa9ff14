import { entryOf } from "@centella/core/backend";
import type { ModuleBuilder } from "../emit/index.ts";
import type { AnyKernel, Emitted } from "../kernel.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import { LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Target } from "../target.ts";
import type { ThreadPool } from "../threads/pool.ts";
import type { KeptKernels } from "./keptKernels.ts";
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
  readonly #define: Define;
  readonly #kept: KeptKernels | undefined;
  /** Bytes of constants before those of this linker's modules. */
  readonly #constantBytes: number;
  #started: ModuleBuilder | undefined;
  readonly #included = new Set<NonNullable<AnyKernel["emit"]>>();
  readonly #functions = new Map<string, Emitted>();
  /** Requested, not built yet. */
  #asked: LinkedModule | undefined;
  /** Built, not on all threads yet. */
  #linkings: readonly ModuleLink[] = [];

  /**
   * `define` defines the functions that every program may use. `constantBytes` bytes of constants are already in use. Functions
   * that `kept` has are not emitted.
   */
  constructor(memory: WasmMemory, target: Target, define: Define, constantBytes: number, kept?: KeptKernels) {
    this.#memory = memory;
    this.#target = target;
    this.#define = define;
    this.#kept = kept;
    this.#constantBytes = kept?.constantBytes ?? constantBytes;
  }

  /** Defines the functions of a lazily loaded kernel. */
  include({ emit }: Pick<AnyKernel, "emit">): void {
    if (emit === undefined || this.#included.has(emit)) return;
    this.#included.add(emit);
    if (this.#started !== undefined) emit(this.#started, this.#target);
  }

  /**
   * Returns a function that can be called after the next link.
   * @throws {RangeError} for an undefined name
   */
  get(name: string): Emitted {
    if (!this.#functions.has(name)) this.#linkings = [...this.#linkings, ...(this.#kept?.link(name, this.#functions) ?? [])];
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const before = this.#builder.functions.length;
    this.#builder.require(name);
    this.#asked ??= new LinkedModule(this.#memory);
    for (const info of this.#builder.functions.slice(before)) this.#functions.set(info.name, this.#asked.declare(info));
    return entryOf(this.#functions, name);
  }

  /** Returns a function that is requested when it is first recorded. If it is called instead, it is linked within the call. */
  onDemand(name: string): Emitted {
    const memory = this.#memory;
    const fn: Emitted = (...args) => {
      const requested = this.get(name);
      if (memory.recorder === undefined) this.loadSync();
      return requested(...args);
    };
    memory.define(fn, () => memory.entryOf(this.get(name)));
    return fn;
  }

  /** Builds the module of the requested functions, which gives them their table slots. */
  build(): void {
    this.#linkings = this.#linkings.filter(({ isShared }) => !isShared);
    if (this.#asked === undefined) return;
    const { functions, constantBytes } = this.#builder;
    const bytes = this.#builder.build();
    this.#linkings = [...this.#linkings, new ModuleLink(this.#memory, this.#asked, bytes)];
    this.#kept?.add({ bytes, functions, constantBytes: this.#constantBytes + constantBytes });
    this.#asked = undefined;
    this.#builder.next();
  }

  /** Makes requested functions available on this thread. */
  async load(): Promise<void> {
    this.build();
    await Promise.all(this.#linkings.map((linking) => linking.load()));
  }

  /** {@link load} within the call. */
  loadSync(): void {
    this.build();
    for (const linking of this.#linkings) linking.loadSync();
  }

  /** Makes requested functions available on every thread. */
  async share(pool: ThreadPool | undefined): Promise<void> {
    this.build();
    await Promise.all(this.#linkings.map((linking) => linking.share(pool)));
  }

  /** Whether all threads have the requested functions. */
  get isShared(): boolean {
    return this.#asked === undefined && this.#linkings.every(({ isShared }) => isShared);
  }

  /** Defines functions when the first one is emitted. */
  get #builder(): ModuleBuilder {
    if (this.#started === undefined) {
      const { address, bytes } = memoryMap.constants;
      const constants = { address: address + this.#constantBytes, bytes: bytes - this.#constantBytes };
      this.#started = moduleBuilderFor(this.#memory.heap, { constants, isLazy: true });
      this.#define(this.#started, this.#target);
      for (const emit of this.#included) emit(this.#started, this.#target);
    }
    return this.#started;
  }
}
