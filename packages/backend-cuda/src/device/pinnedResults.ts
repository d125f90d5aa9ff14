import type { ConcreteSpec, TypedArray } from "@centella/core";
import { byteLength, elementAt, type ResultMemory, typedArrayOf } from "@centella/core/backend";
import type { CudaDriver } from "./driver.ts";
import { bytesOf, unfilled } from "./hostArrays.ts";
import type { PinnedBlock } from "./pinnedPool.ts";

/** A result in a block of page-locked memory. */
export interface ResultPlace {
  readonly spec: ConcreteSpec;
  readonly offset: number;
}

/** Results of a run in page-locked memory. The host can read it after the loss of a device, too. */
export class PinnedResults implements ResultMemory {
  readonly isLost: boolean = false;
  readonly #driver: CudaDriver;
  readonly #block: PinnedBlock;
  readonly #places: readonly ResultPlace[];

  constructor(driver: CudaDriver, block: PinnedBlock, places: readonly ResultPlace[]) {
    this.#driver = driver;
    this.#block = block;
    this.#places = places;
  }

  get bytes(): number {
    return this.#block.bytes;
  }

  get count(): number {
    return this.#places.length;
  }

  copy(index: number): TypedArray {
    const { spec } = elementAt(this.#places, index);
    const type = typedArrayOf(spec.dtype);
    const array = new type(unfilled(byteLength(spec)).buffer);
    this.copyTo(index, array);
    return array;
  }

  copyTo(index: number, target: TypedArray): void {
    if (target.length > 0) this.#driver.readPinned(this.#block.handle, elementAt(this.#places, index).offset, bytesOf(target));
  }

  release(): void {
    this.#block.free();
  }
}
