import type { ConcreteSpec, TypedArray } from "@centella/core";
import { byteLength, elementAt, HostArrays, type HostResults, ResultHolder, type ResultMemory, typedArrayOf } from "@centella/core/backend";
import { BufferPool, type NamedDevice, type Region, readbackUsage } from "./buffers.ts";
import { blockStride, copyBytes, copyFromDevice, deviceBytes, roundUp } from "./layout.ts";
import { mapRead } from "./usage.ts";

/** A tensor to be read back, and where it is stored. */
export interface Readback {
  readonly spec: ConcreteSpec;
  readonly from: Region;
}

/** A tensor, and its place in a mapped buffer: `bytes` from `offset` on, in whole words. */
interface Place extends Readback {
  readonly offset: number;
  readonly bytes: number;
}

/** The places of tensors in one buffer of `bytes`. */
export interface ReadbackLayout {
  readonly places: readonly Place[];
  readonly bytes: number;
}

/** Places tensors one after the other. */
export function readbackLayout(wanted: readonly Readback[]): ReadbackLayout {
  let total = 0;
  const places = wanted.map(({ spec, from }): Place => {
    const offset = roundUp(total, 8);
    const bytes = copyBytes(deviceBytes(spec));
    total = offset + bytes;
    return { spec, from, offset, bytes };
  });
  return { places, bytes: total };
}

/** Bytes from which on results stay in the mapped buffer. Fewer are copied to arrays at once, and their buffer is free after the next submission. */
export const leastHeldBytes: number = 2 ** 16;

/** Bytes of results that stay mapped until they are freed. The oldest are copied to arrays when there are more. */
const mostMapped = 2 ** 26;

/** Buffers through which the host reads results. Results stay in the mapped memory, so that a reader makes the only copy. */
export class Readbacks {
  readonly #buffers: BufferPool;
  readonly #results: ResultHolder;
  /** Buffers whose results were copied. They are unmapped after the next submission, while the device works. */
  readonly #copied: GPUBuffer[] = [];

  /** @param failure the error of reading what ended with the device */
  constructor(device: NamedDevice, onRefusal: (bytes: number) => void, failure: () => Error) {
    this.#buffers = new BufferPool(device, readbackUsage, onRefusal);
    this.#results = new ResultHolder(mostMapped, failure);
  }

  /** Bytes of all buffers: written, mapped, or free. */
  get heldBytes(): number {
    return this.#buffers.usedBytes + this.#buffers.freeBytes;
  }

  /**
   * Records copies of tensors to one buffer, if they have any bytes. {@link map} it after the submission, or {@link drop} it. Results that
   * are recoded on the device are read as the device holds them.
   */
  record(encoder: GPUCommandEncoder, { places, bytes: total }: ReadbackLayout): GPUBuffer | undefined {
    if (total === 0) return undefined;
    this.#results.makeRoom(total);
    const staging = this.#buffers.acquire(total);
    for (const { from, offset, bytes } of places) {
      if (bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, staging, offset, bytes);
    }
    return staging;
  }

  /** Resolves with the results when the device has copied them to `staging`. */
  async map(staging: GPUBuffer | undefined, { places, bytes }: ReadbackLayout): Promise<HostResults> {
    if (staging === undefined) return new HostArrays(places.map(({ spec }) => new (typedArrayOf(spec.dtype))(0)));
    const mapped = staging.mapAsync(mapRead, 0, bytes);
    this.#unmapCopied();
    try {
      await mapped;
    } catch (error) {
      // It may be a buffer that the device had no memory for.
      this.#buffers.discard(staging);
      throw error;
    }
    const memory = staging.getMappedRange(0, bytes);
    if (bytes >= leastHeldBytes) return this.#results.hold(new MappedResults(memory, places, () => this.#unmap(staging)));
    this.#copied.push(staging);
    return new HostArrays(places.map((place) => copyOf(memory, place)));
  }

  /** Takes a buffer back to which nothing is copied: the commands are not submitted. */
  drop(staging: GPUBuffer | undefined): void {
    if (staging !== undefined) this.#buffers.release(staging);
  }

  /** Copies all results to arrays, before the device ends and mapped memory with it. */
  settle(): void {
    this.#results.settle();
  }

  #unmapCopied(): void {
    for (const buffer of this.#copied) this.#unmap(buffer);
    this.#copied.length = 0;
  }

  #unmap(buffer: GPUBuffer): void {
    buffer.unmap();
    this.#buffers.release(buffer);
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
    return copyOf(this.#memory, elementAt(this.#places, index));
  }

  copyTo(index: number, { buffer, byteOffset, byteLength }: TypedArray): void {
    copyPlace(this.#memory, elementAt(this.#places, index), new Uint8Array(buffer, byteOffset, byteLength));
  }
}

function copyOf(memory: ArrayBuffer, place: Place): TypedArray {
  const { spec, offset } = place;
  const type = typedArrayOf(spec.dtype);
  // A slice is not filled with zeros first. Types whose blocks are spaced are converted below.
  if (blockStride(spec.dtype) === undefined) return new type(memory.slice(offset, offset + deviceBytes(spec)));
  const bytes = new Uint8Array(byteLength(spec));
  copyPlace(memory, place, bytes);
  return new type(bytes.buffer);
}

function copyPlace(memory: ArrayBuffer, { spec, offset }: Place, target: Uint8Array): void {
  copyFromDevice(spec.dtype, new Uint8Array(memory, offset, deviceBytes(spec)), target);
}
