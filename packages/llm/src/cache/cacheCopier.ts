import { type ConcreteSpec, DeviceLostError, type Plan, type Runtime } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import type { CompiledPlan } from "../scheduler/scheduler.ts";
import { blockTokens } from "./prefixCache.ts";
import type { SlotCopier } from "./slotCopier.ts";

/** Copies slots by a program of its own on the memory of the model's plan. Few programs need it, so it is compiled on demand. */
export class CacheCopier implements SlotCopier {
  readonly #runtime: Runtime;
  readonly #shared: CompiledPlan;
  readonly #layers: ReadonlyMap<string, ConcreteSpec>;
  #plan: Plan | undefined;
  #opening: Promise<void> | undefined;

  /** @param layers the cache of each layer, `[slots, heads, width]`, by name */
  constructor(runtime: Runtime, shared: CompiledPlan, layers: ReadonlyMap<string, ConcreteSpec>) {
    this.#runtime = runtime;
    this.#shared = shared;
    this.#layers = layers;
  }

  get isOpen(): boolean {
    return this.#plan !== undefined;
  }

  open(): Promise<void> {
    this.#opening ??= this.#compile();
    return this.#opening;
  }

  async #compile(): Promise<void> {
    // Rows of block types cannot be gathered under another shape.
    if ([...this.#layers.values()].some(({ dtype }) => isQuantized(dtype))) return;
    try {
      const { recordSlotCopier } = await import("./cacheTransfer.ts");
      this.#plan = await this.#runtime.compile(recordSlotCopier(this.#layers, blockTokens), { shareWith: this.#shared });
    } catch {
      // The texts are the same without copies. If the device cannot be used any more, the next run says so.
    }
  }

  copy(from: Int32Array, to: Int32Array): boolean {
    if (this.#plan === undefined) return false;
    try {
      const outputs = this.#plan.run({ from, to, done: new Float32Array(1) });
      for (const output of Object.values(outputs)) output.dispose();
      return true;
    } catch (error) {
      if (error instanceof DeviceLostError) return false;
      throw error;
    }
  }

  async dispose(): Promise<void> {
    await this.#opening;
    this.#plan?.dispose();
  }
}
