import { type DimValues, Tensor, type TypedArray } from "@centella/core";
import { byteLength, entryOf, type Operand, type Output, resolveSpec, type Storage } from "@centella/core/backend";
import type { Run } from "../kernel.ts";
import type { Heap } from "../memory/heap.ts";
import { readStored, WasmStorage } from "../memory/tensors.ts";
import type { DirectOutput } from "./directOutputs.ts";

/** Outputs of a plan, and where their memory is. */
export interface ResultsOf {
  readonly heap: Heap;
  readonly outputs: readonly (Output & { readonly operand: Operand })[];
  readonly direct: readonly DirectOutput[];
}

/** The results of one run: handles that exist at once, and their content once it is computed. */
export class RunResults {
  readonly #plan: ResultsOf;
  readonly #dims: DimValues;
  readonly #host = new Map<string, TypedArray>();
  readonly #device = new Map<string, WasmStorage>();
  /** Memory of direct outputs that no tensor owns yet. */
  readonly #taken = new Map<Storage, number>();

  constructor(plan: ResultsOf, dims: DimValues) {
    this.#plan = plan;
    this.#dims = dims;
  }

  /** Returns the handles. `done` resolves when their content exists. */
  handles(done: Promise<unknown>): Record<string, Tensor> {
    const { heap, outputs } = this.#plan;
    const handles: Record<string, Tensor> = {};
    for (const { name, operand, to } of outputs) {
      const spec = resolveSpec(operand.spec, this.#dims);
      if (to === "host") handles[name] = this.#hostHandle(name, spec, done);
      else {
        const storage = new WasmStorage(heap, spec, done);
        this.#device.set(name, storage);
        handles[name] = new Tensor(spec, storage);
      }
    }
    return handles;
  }

  /** Allocates memory for direct outputs that are still needed, and adds it to `overrides`. */
  place(overrides: Map<Storage, number>): void {
    for (const { name, operand } of this.#plan.direct) {
      if (this.#device.get(name)?.isWanted === false) continue;
      const address = this.#alloc(operand);
      this.#taken.set(operand.storage, address);
      overrides.set(operand.storage, address);
    }
  }

  /** Takes over the results of a run. Returns the number of readbacks. */
  collect(run: Run): number {
    const { heap, outputs } = this.#plan;
    let readbacks = 0;
    for (const { name, operand, to } of outputs) {
      const from = run.address(operand);
      if (to === "host") {
        this.#host.set(name, readStored(heap, resolveSpec(operand.spec, this.#dims), from));
        readbacks++;
        continue;
      }
      const result = entryOf(this.#device, name);
      if (this.#taken.delete(operand.storage)) result.place(from);
      else if (result.isWanted) {
        const address = this.#alloc(operand);
        heap.u8.copyWithin(address, from, from + this.#bytes(operand));
        result.place(address);
      }
    }
    return readbacks;
  }

  /** Frees memory that no tensor took. */
  release(): void {
    for (const address of this.#taken.values()) this.#plan.heap.free(address);
    this.#taken.clear();
  }

  #hostHandle(name: string, spec: Tensor["spec"], done: Promise<unknown>): Tensor {
    return new Tensor(spec, {
      device: "host",
      ready: async () => {
        await done;
      },
      read: async () => {
        await done;
        return entryOf(this.#host, name).slice();
      },
      free: () => this.#host.delete(name),
    });
  }

  #bytes({ spec }: Operand): number {
    return byteLength(resolveSpec(spec, this.#dims));
  }

  #alloc(operand: Operand): number {
    return this.#plan.heap.alloc(this.#bytes(operand), "tensors");
  }
}
