import type { CudaDriver, Mark } from "./driver.ts";
import type { PinnedBlock } from "./pinnedPool.ts";

/** Chunks of a load that are read, or copied to the device, at the same time. */
const slotCount = 6;

/** Page-locked memory that a chunk is read into. */
interface UploadSlot {
  readonly block: PinnedBlock;
  /** The memory, for the host. */
  readonly bytes: Uint8Array;
}

/** The part of a device that a ring uses. */
interface Uploader {
  allocPinned(bytes: number): PinnedBlock;
  call<T>(work: (driver: CudaDriver) => T): T;
  finished(mark: Mark, pollMicroseconds?: number): Promise<void>;
}

/** Page-locked blocks that loads fill while the device copies from others. */
export class UploadRing {
  readonly #device: Uploader;
  /** Unused slots, in the order in which they were given back, with the mark after their last copy. */
  readonly #free: { readonly slot: UploadSlot; readonly mark: Mark }[] = [];
  #count = 0;

  constructor(device: Uploader) {
    this.#device = device;
  }

  /**
   * Calls `move` for each item with a slot of `bytesOf(item)` bytes, for several items at the same time. `move` queues the copies from its
   * slot before it resolves. Resolves when all copies are queued; after a failure, once no `move` is under way.
   */
  async forEach<T>(items: Iterable<T>, bytesOf: (item: T) => number, move: (item: T, slot: UploadSlot) => Promise<void>): Promise<void> {
    const remaining = items[Symbol.iterator]();
    let hasFailed = false;
    const lane = async (): Promise<void> => {
      for (let next = remaining.next(); next.done !== true && !hasFailed; next = remaining.next()) {
        const slot = await this.#take(bytesOf(next.value));
        try {
          await move(next.value, slot);
        } finally {
          this.#free.push({ slot, mark: this.#device.call((driver) => driver.mark()) });
        }
      }
    };
    const guarded = async (): Promise<void> => {
      try {
        await lane();
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    };
    const lanes = await Promise.allSettled(Array.from({ length: slotCount }, guarded));
    const failed = lanes.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** Frees the slots, once the device has copied from them. */
  async clear(): Promise<void> {
    for (const { slot, mark } of this.#free.splice(0)) {
      try {
        await this.#device.finished(mark);
      } finally {
        this.#drop(slot);
      }
    }
  }

  async #take(bytes: number): Promise<UploadSlot> {
    if (this.#count < slotCount) return this.#create(bytes);
    // Each lane of the one load that is under way has at most one of the slots.
    const { slot, mark } = this.#free.shift()!;
    let isEnough = false;
    try {
      await this.#device.finished(mark, 1);
      isEnough = slot.bytes.length >= bytes;
    } finally {
      if (!isEnough) this.#drop(slot);
    }
    return isEnough ? slot : this.#create(bytes);
  }

  #drop({ block }: UploadSlot): void {
    this.#count--;
    block.free();
  }

  #create(bytes: number): UploadSlot {
    const block = this.#device.allocPinned(bytes);
    this.#count++;
    return { block, bytes: this.#device.call((driver) => driver.viewPinned(block.handle, block.bytes)) };
  }
}
