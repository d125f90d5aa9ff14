import { BufferPool, type NamedDevice, type Region } from "./buffers.ts";
import { copyBytes } from "./layout.ts";
import { mapWrite, usage } from "./usage.ts";

/** Bytes from which content goes through mapped memory. `writeBuffer` is faster for less, but copies more once. */
export const leastMappedBytes: number = 2 ** 16;

/** Bytes of mapped memory that loading weights takes at most, but for a chunk that is larger. */
const loadingBytes = 48 * 2 ** 20;

/** Bytes of mapped memory beyond which free buffers are given up: those of loading, and of a chunk. */
const ringBytes = loadingBytes + 16 * 2 ** 20;

/** Host memory that the device copies from. */
export interface MappedMemory {
  readonly buffer: GPUBuffer;
  /** The memory, of the size that was asked for. */
  readonly bytes: Uint8Array;
}

/** A ring of mapped buffers: the host fills one while the device copies from others. */
export class UploadRing {
  readonly #buffers: BufferPool;
  /** Copies that the device has not finished. */
  readonly #copies = new Set<Promise<void>>();

  constructor(device: NamedDevice, onRefusal: (bytes: number) => void) {
    this.#buffers = new BufferPool(device, usage.mapWrite | usage.copySource, onRefusal, ringBytes);
  }

  /** Bytes of all buffers: filled, copied from, or free. */
  get heldBytes(): number {
    return this.#buffers.usedBytes + this.#buffers.freeBytes;
  }

  /** Memory of `length` bytes. Its content is undefined, but for the bytes that fill the last word, which are zeros. */
  acquire(length: number): MappedMemory {
    const buffer = this.#buffers.acquire(copyBytes(length));
    const bytes = new Uint8Array(buffer.getMappedRange());
    bytes.fill(0, length, copyBytes(length));
    return { buffer, bytes: bytes.subarray(0, length) };
  }

  /** Ends the host's use of memory, and records the copy of its content. Call {@link release} after the submission. */
  copy(encoder: GPUCommandEncoder, { buffer, bytes: { length } }: MappedMemory, to: Region): void {
    buffer.unmap();
    if (length > 0) encoder.copyBufferToBuffer(buffer, 0, to.buffer, to.offset, copyBytes(length));
  }

  /** Takes a buffer back. Resolves when the device has copied its content, or is gone. */
  release(buffer: GPUBuffer): Promise<void> {
    const copy = this.#release(buffer).finally(() => this.#copies.delete(copy));
    this.#copies.add(copy);
    return copy;
  }

  /** Resolves when `length` bytes can be acquired within the memory for loading. */
  async hasRoom(length: number): Promise<void> {
    while (this.#copies.size > 0 && this.#buffers.usedBytes + length > loadingBytes) await Promise.race(this.#copies);
  }

  async #release(buffer: GPUBuffer): Promise<void> {
    try {
      // A mapped range cannot be had twice.
      buffer.unmap();
      await buffer.mapAsync(mapWrite);
      this.#buffers.release(buffer);
    } catch {
      // A device that is gone takes its buffers with it; the work that needs them fails by itself.
    }
  }
}
