// A stamp says when a thread used a place of shared memory: the number of block barriers before it, of barriers of its warp, and the thread.
const threads = 2 ** 10;
const clocks = 2 ** 20;

/** Added to the stamp of a place that several threads of one warp have read, and that threads of several warps have read. */
const manyLanes = 0.5;
const manyWarps = 0.75;

/** Stamps of a block's threads. */
export class Stamps {
  /** Counts the block's barriers. */
  phase = 1;
  readonly #clocks = new Int32Array(threads);

  passWarpBarrier(thread: number): void {
    this.#clocks[thread]!++;
  }

  of(thread: number): number {
    return (this.phase * clocks + this.#clocks[thread]!) * threads + thread;
  }

  /** The record of a place after a read, given the record before it. */
  readBy(record: number, stamp: number): number {
    if (phaseOf(record) !== phaseOf(stamp) || (threadOf(record) === threadOf(stamp) && record % 1 === 0)) return stamp;
    return stamp + (warpOf(record) === warpOf(stamp) && record % 1 !== manyWarps ? manyLanes : manyWarps);
  }
}

/** Whether an access is ordered after a recorded one: by a barrier of the block or of the warp, or because one thread did both. */
export function areOrdered(record: number, stamp: number): boolean {
  if (phaseOf(record) !== phaseOf(stamp)) return true;
  if (record % 1 === manyWarps) return false;
  if (record % 1 === 0 && threadOf(record) === threadOf(stamp)) return true;
  return warpOf(record) === warpOf(stamp) && clockOf(record) < clockOf(stamp);
}

function threadOf(stamp: number): number {
  return Math.floor(stamp) % threads;
}

function warpOf(stamp: number): number {
  return threadOf(stamp) >> 5;
}

function clockOf(stamp: number): number {
  return Math.floor(stamp / threads) % clocks;
}

function phaseOf(stamp: number): number {
  return Math.floor(stamp / (threads * clocks));
}
