import type { ModuleBuilder } from "../emit/index.ts";
import type { AnyKernel, Emitted } from "../kernel.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import { LinkedModule, type WasmMemory } from "../memory/wasmMemory.ts";
import type { Target } from "../target.ts";
import type { ThreadPool } from "../threads/pool.ts";
import { ModuleLink, moduleBuilderFor } from "./moduleLink.ts";

/** What defines functions. */
type Define = (module: ModuleBuilder, target: Target) => void;

/**
 * Kernels' functions over one memory, emitted when a plan first asks for them: a model calls a tenth of what there is. What is asked for
 * between two links becomes a module.
 */
export class KernelLinker {
  readonly #memory: WasmMemory;
  readonly #target: Target;
  readonly #builder: ModuleBuilder;
  readonly #included = new Set<AnyKernel["emit"]>();
  readonly #functions = new Map<string, Emitted>();
  /** Asked for, and not built yet. */
  #asked: LinkedModule | undefined;
  /** Built, and not on all threads yet. */
  #linkings: readonly ModuleLink[] = [];

  /** `define`: the functions that kernels share, and those of kernels that all programs may use. `constantBytes`: those that are taken already. */
  constructor(memory: WasmMemory, target: Target, define: Define, constantBytes: number) {
    this.#memory = memory;
    this.#target = target;
    const { address, bytes } = memoryMap.constants;
    const constants = { address: address + constantBytes, bytes: bytes - constantBytes };
    this.#builder = moduleBuilderFor(memory.heap, { constants, isLazy: true });
    define(this.#builder, target);
  }

  /** Defines the functions of a kernel that is not among those of the beginning. */
  include({ emit }: Pick<AnyKernel, "emit">): void {
    if (emit === undefined || this.#included.has(emit)) return;
    this.#included.add(emit);
    emit(this.#builder, this.#target);
  }

  /** A function by name, which can be called after the next link. @throws {RangeError} for a name that was not defined */
  get(name: string): Emitted {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const before = this.#builder.functions.length;
    this.#builder.require(name);
    this.#asked ??= new LinkedModule(this.#memory);
    for (const info of this.#builder.functions.slice(before)) this.#functions.set(info.name, this.#asked.declare(info));
    return this.#functions.get(name)!;
  }

  /** Makes what was asked for ready on every thread. */
  async link(pool: ThreadPool | undefined): Promise<void> {
    this.#build();
    const linkings = this.#linkings;
    await Promise.all(linkings.map((linking) => linking.link(pool)));
    this.#linkings = this.#linkings.filter(({ isShared }) => !isShared);
  }

  /** {@link link} within the call. */
  linkSync(pool: ThreadPool | undefined): void {
    this.#build();
    for (const linking of this.#linkings) linking.linkSync(pool);
  }

  /** Whether all threads have what was asked for. */
  get isShared(): boolean {
    return this.#asked === undefined && this.#linkings.every(({ isShared }) => isShared);
  }

  #build(): void {
    if (this.#asked === undefined) return;
    this.#linkings = [...this.#linkings, new ModuleLink(this.#memory, this.#asked, this.#builder.build())];
    this.#asked = undefined;
    this.#builder.next();
  }
}
