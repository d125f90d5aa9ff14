import type { ConcreteSpec, TypedArray } from "@centella/core";
import { byteLength, elementAt, HostArrays, type HostResults, ResultHolder, type ResultMemory, typedArrayOf } from "@centella/core/backend";
import { BufferPool, type Region, readbackUsage } from "./buffers.ts";
import { blockStride, copyFromDevice, deviceBytes, roundUp } from "./layout.ts";
import { mapRead } from "./usage.ts";

/** A tensor to be read back, and where it is stored. */
export interface Readback {
  readonly spec: ConcreteSpec;
  readonly from: Region;
}

/** A tensor in a mapped buffer. */
interface Place {
  readonly spec: ConcreteSpec;
  readonly offset: number;
}

/** Bytes from which on results stay in the mapped buffer. Fewer are copied to arrays at once, and their buffer is free again. */
const leastMapped = 2 ** 16;

/** Bytes of results that stay mapped until they are freed. The oldest are copied to arrays when there are more. */
const mostMapped = 2 ** 26;

/** Buffers through which the host reads results. Results stay in the mapped memory, so that a reader makes the only copy. */
export class Readbacks {
  readonly #buffers: BufferPool;
  readonly #results: ResultHolder;

  /** @param failure the error of reading what ended with the device */
  constructor(device: GPUDevice, onRefusal: (bytes: number) => void, failure: () => Error) {
    this.#buffers = new BufferPool(device, readbackUsage, onRefusal);
    this.#results = new ResultHolder(mostMapped, failure);
  }

  /** Bytes of all buffers: written, mapped, or free. */
  get heldBytes(): number {
    return this.#buffers.usedBytes + this.#buffers.freeBytes;
  }

  /**
   * Records copies of tensors to one buffer. Call the result after the submission: it maps that buffer. Results that are recoded on the
   * device are read as the device holds them.
   */
  record(encoder: GPUCommandEncoder, wanted: readonly Readback[]): () => Promise<HostResults> {
    let total = 0;
    const places = wanted.map(({ spec }): Place => {
      const offset = roundUp(total, 8);
      total = offset + roundUp(deviceBytes(spec), 4);
      return { spec, offset };
    });
    if (total === 0) return async () => new HostArrays(wanted.map(({ spec }) => new (typedArrayOf(spec.dtype))(0)));
    this.#results.makeRoom(total);
    const staging = this.#buffers.acquire(total);
    wanted.forEach(({ spec, from }, i) => {
      const bytes = roundUp(deviceBytes(spec), 4);
      if (bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, staging, elementAt(places, i).offset, bytes);
    });
    return () => this.#map(staging, total, places);
  }

  /** Copies all results to arrays, before the device ends and mapped memory with it. */
  settle(): void {
    this.#results.settle();
  }

  async #map(staging: GPUBuffer, total: number, places: readonly Place[]): Promise<HostResults> {
    try {
      await staging.mapAsync(mapRead, 0, total);
    } catch (error) {
      // It may be a buffer that the device had no memory for.
      this.#buffers.discard(staging);
      throw error;
    }
    const results = new MappedResults(staging.getMappedRange(0, total), places, () => {
      staging.unmap();
      this.#buffers.release(staging);
    });
    if (total >= leastMapped) return this.#results.hold(results);
    const arrays = places.map((_, index) => results.copy(index));
    results.release();
    return new HostArrays(arrays);
  }
}

/** Results in a mapped buffer. The device's end unmaps it. */
class MappedResults implements ResultMemory {
  readonly bytes: number;
  readonly release: () => void;
  readonly #memory: ArrayBuffer;
  readonly #places: readonly Place[];

  constructor(memory: ArrayBuffer, places: readonly Place[], release: () => void) {
    this.bytes = memory.byteLength;
    this.release = release;
    this.#memory = memory;
    this.#places = places;
  }

  get count(): number {
    return this.#places.length;
  }

  get isLost(): boolean {
    return this.#memory.byteLength === 0;
  }

  copy(index: number): TypedArray {
    const { spec, offset } = elementAt(this.#places, index);
    const type = typedArrayOf(spec.dtype);
    // A slice is not filled with zeros first. Types that the device recodes are converted below.
    if (blockStride(spec.dtype) === undefined) return new type(this.#memory.slice(offset, offset + deviceBytes(spec)));
    const array = new type(byteLength(spec));
    this.copyTo(index, array);
    return array;
  }

  copyTo(index: number, { buffer, byteOffset, byteLength }: TypedArray): void {
    const { spec, offset } = elementAt(this.#places, index);
    copyFromDevice(spec.dtype, new Uint8Array(this.#memory, offset, deviceBytes(spec)), new Uint8Array(buffer, byteOffset, byteLength));
  }
}
