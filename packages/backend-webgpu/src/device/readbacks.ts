import type { ConcreteSpec, TypedArray } from "@centella/core";
import { byteLength, elementAt, HostArrays, type HostResults, typedArrayOf } from "@centella/core/backend";
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
  readonly #failure: () => Error;
  /** Results in mapped memory, the oldest first. */
  readonly #mapped = new Set<MappedResults>();

  /** @param failure the error of reading what ended with the device */
  constructor(device: GPUDevice, onRefusal: (bytes: number) => void, failure: () => Error) {
    this.#buffers = new BufferPool(device, readbackUsage, onRefusal);
    this.#failure = failure;
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
    this.#makeRoom(total);
    const staging = this.#buffers.acquire(total);
    wanted.forEach(({ spec, from }, i) => {
      const bytes = roundUp(deviceBytes(spec), 4);
      if (bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, staging, elementAt(places, i).offset, bytes);
    });
    return () => this.#map(staging, total, places);
  }

  /** Copies all results to arrays, before the device ends and mapped memory with it. */
  settle(): void {
    for (const results of this.#mapped) results.settle();
  }

  async #map(staging: GPUBuffer, total: number, places: readonly Place[]): Promise<HostResults> {
    try {
      await staging.mapAsync(mapRead, 0, total);
    } catch (error) {
      // It may be a buffer that the device had no memory for.
      this.#buffers.discard(staging);
      throw error;
    }
    const results = new MappedResults(staging.getMappedRange(0, total), places, this.#failure, () => {
      staging.unmap();
      this.#mapped.delete(results);
      this.#buffers.release(staging);
    });
    this.#makeRoom(total);
    this.#mapped.add(results);
    if (total < leastMapped) results.settle();
    return results;
  }

  #makeRoom(bytes: number): void {
    let mapped = bytes;
    for (const { bytes } of this.#mapped) mapped += bytes;
    for (const oldest of this.#mapped) {
      if (mapped <= mostMapped) break;
      mapped -= oldest.bytes;
      oldest.settle();
    }
  }
}

/** Results in mapped memory, which is given back once all of them are freed or copied to arrays. */
class MappedResults implements HostResults {
  readonly bytes: number;
  readonly #memory: ArrayBuffer;
  readonly #failure: () => Error;
  readonly #unmap: () => void;
  /** Results in mapped memory, by index. */
  readonly #places: Map<number, Place>;
  /** Results that were copied, by index. */
  readonly #arrays = new Map<number, TypedArray>();

  constructor(memory: ArrayBuffer, places: readonly Place[], failure: () => Error, unmap: () => void) {
    this.bytes = memory.byteLength;
    this.#memory = memory;
    this.#failure = failure;
    this.#unmap = unmap;
    this.#places = new Map(places.entries());
  }

  read(index: number): TypedArray {
    const place = this.#places.get(index);
    return place === undefined ? this.#array(index).slice() : this.#copy(place);
  }

  readInto(index: number, target: TypedArray): void {
    const place = this.#places.get(index);
    if (place === undefined) target.set(this.#array(index));
    else this.#copyTo(place, target);
  }

  peek(index: number): TypedArray {
    this.settle();
    return this.#array(index);
  }

  free(index: number): void {
    this.#arrays.delete(index);
    if (this.#places.delete(index) && this.#places.size === 0) this.#unmap();
  }

  /** Copies what is mapped to arrays, and gives the memory back. */
  settle(): void {
    if (this.#places.size === 0) return;
    if (this.#memory.byteLength > 0) for (const [index, place] of this.#places) this.#arrays.set(index, this.#copy(place));
    this.#places.clear();
    this.#unmap();
  }

  #array(index: number): TypedArray {
    const array = this.#arrays.get(index);
    if (array === undefined) throw this.#failure();
    return array;
  }

  #copy(place: Place): TypedArray {
    const { spec, offset } = place;
    const type = typedArrayOf(spec.dtype);
    // A slice is not filled with zeros first. Types that the device recodes are converted below.
    if (blockStride(spec.dtype) === undefined) return new type(this.#mapped().slice(offset, offset + deviceBytes(spec)));
    const array = new type(byteLength(spec));
    this.#copyTo(place, array);
    return array;
  }

  #copyTo({ spec, offset }: Place, { buffer, byteOffset, byteLength }: TypedArray): void {
    copyFromDevice(spec.dtype, new Uint8Array(this.#mapped(), offset, deviceBytes(spec)), new Uint8Array(buffer, byteOffset, byteLength));
  }

  /** @throws the device's failure if the memory ended with the device */
  #mapped(): ArrayBuffer {
    if (this.#memory.byteLength === 0) throw this.#failure();
    return this.#memory;
  }
}
