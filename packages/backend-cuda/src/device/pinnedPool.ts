import type { Handle } from "./driver.ts";

/** Page-locked host memory. */
export interface PinnedBlock {
  readonly handle: Handle;
  readonly bytes: number;
  free(): void;
}

/** Bytes of freed blocks that are kept: allocating a block costs more than most copies through it. */
const maxKept = 64 * 2 ** 20;

/** Page-locked memory whose blocks are used again. */
export class PinnedPool {
  readonly #alloc: (bytes: number) => PinnedBlock;
  /** Freed blocks, the one that was freed first is the first. */
  readonly #kept: PinnedBlock[] = [];

  constructor(alloc: (bytes: number) => PinnedBlock) {
    this.#alloc = alloc;
  }

  /** A block of at least `bytes`. Free it when no copy from or to it is under way. */
  take(bytes: number): PinnedBlock {
    const index = this.#kept.findIndex((block) => block.bytes >= bytes && block.bytes <= 2 * bytes);
    const block = index < 0 ? this.#alloc(bytes) : (this.#kept.splice(index, 1)[0] as PinnedBlock);
    let isFreed = false;
    const free = (): void => {
      if (isFreed) return;
      isFreed = true;
      this.#kept.push(block);
      let total = this.#kept.reduce((sum, kept) => sum + kept.bytes, 0);
      while (total > maxKept) {
        const oldest = this.#kept.shift() as PinnedBlock;
        total -= oldest.bytes;
        oldest.free();
      }
    };
    return { handle: block.handle, bytes: block.bytes, free };
  }

  /** Frees the blocks that are kept. */
  clear(): void {
    for (const block of this.#kept.splice(0)) block.free();
  }
}
