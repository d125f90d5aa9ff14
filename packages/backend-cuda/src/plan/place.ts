import type { DimValues, TensorSpec } from "@centella/core";
import { resolveSpec } from "@centella/core/backend";
import { deviceBytes } from "@centella/gpu-kernels";

/** A place in one of a plan's pieces of memory. */
export interface Place {
  readonly region: Region;
  readonly offset: number;
}

/**
 * A plan's memory: `scratch` is each step's own while it runs, `upload` receives a run's host inputs, `given` copies of its inputs on the
 * device, `readback` host outputs. `results` is page-locked memory of the host with the layout of `readback`, a block for each run in flight.
 */
export type Region =
  | { readonly kind: "arena" | "scratch" | "upload" | "given" | "readback" | "results" }
  | { readonly kind: "persistent"; readonly name: string }
  | { readonly kind: "constant"; readonly storage: number };

/** Alignment of places of that size and more: that of `cuMemAlloc`. */
export const alignment = 256;

/** Bytes of a tensor in device memory with its symbolic dims at the given values. */
export function bytesAt(spec: TensorSpec, dims: DimValues): number {
  return deviceBytes(resolveSpec(spec, dims));
}

/** Bytes of the whole words that hold `bytes` bytes: kernels write words. */
export function wordBytes(bytes: number): number {
  return 4 * Math.ceil(bytes / 4);
}

/** Allocates consecutive places of a region. Tensors below {@link alignment} are aligned to the next power of two, to keep transfers small. */
export class Layout {
  readonly #region: Region;
  bytes = 0;
  constructor(region: Region) {
    this.#region = region;
  }
  add(bytes: number): Place {
    let multiple = 4;
    while (multiple < bytes && multiple < alignment) multiple *= 2;
    const offset = Math.ceil(this.bytes / multiple) * multiple;
    this.bytes = offset + wordBytes(bytes);
    return { region: this.#region, offset };
  }
}
