// A stamp says when a thread used a place of shared memory: the number of block barriers before it, of barriers of its warp, and the thread.
/** At least the threads of a cluster. */
const threads = 2 ** 13;
const clocks = 2 ** 20;

/** Added to the stamp of a place that several threads of one warp have read. */
const manyLanes = 0.5;

/** By thread: what it did at smaller clocks than this comes before what the knowledge's owner does next. */
type Knowledge = Int32Array;

/** Stamps of the threads of a block, or of all blocks of a cluster. */
export class Stamps {
  /** Counts the block's barriers. */
  phase = 1;
  readonly #clocks: Int32Array;
  /** By thread, and by barrier for copies or for clusters. Starts again at each barrier of the block. */
  readonly #known = new Map<number | string, Knowledge>();
  /** Places that several warps have read have the record -1 - i for set i: the record of each warp. Sets before a barrier of the block are dropped. */
  readonly #sets: (ReadonlyMap<number, number> | undefined)[] = [];
  /** The record of a place after a read, by its record before and the read's stamp. */
  readonly #setsAfter = new Map<number, Map<number, number>>();

  constructor(count: number) {
    this.#clocks = new Int32Array(count);
  }

  /** Called when all threads have reached a barrier: all of one block, without a cluster. */
  passBarrier(): void {
    this.phase++;
    this.#known.clear();
    this.#sets.fill(undefined);
    this.#setsAfter.clear();
  }

  passWarpBarrier(thread: number): void {
    const clock = ++this.#clocks[thread]!;
    const first = thread & ~31;
    for (let lane = first; lane < first + 32; lane++) this.#learn(thread, this.#known.get(lane));
    // Lanes of a warp pass their barriers together: what each did before this one has a smaller clock.
    const known = this.#known.get(thread) ?? new Int32Array(this.#clocks.length);
    for (let lane = first; lane < first + 32; lane++) known[lane] = Math.max(known[lane]!, clock);
    this.#known.set(thread, known);
  }

  /** All of `members` have reached a barrier. */
  passSomeBarrier(members: readonly number[]): void {
    const together = new Int32Array(this.#clocks.length);
    for (const thread of members) {
      together[thread] = ++this.#clocks[thread]!;
      for (const [i, clock] of (this.#known.get(thread) ?? []).entries()) together[i] = Math.max(together[i]!, clock);
    }
    for (const thread of members) this.#learn(thread, together);
  }

  /** A thread arrives at a barrier that it need not wait at. */
  arrive(thread: number, barrier: string): void {
    this.#learn(barrier, this.#known.get(thread));
    const known = this.#known.get(barrier) ?? new Int32Array(this.#clocks.length);
    known[thread] = Math.max(known[thread]!, this.#clocks[thread]! + 1);
    this.#known.set(barrier, known);
  }

  /** A thread has seen a phase of such a barrier complete. */
  leave(thread: number, barrier: string): void {
    this.#learn(thread, this.#known.get(barrier));
  }

  /** What is known at barrier `from` is known at barrier `to`. */
  relay(from: string, to: string): void {
    this.#learn(to, this.#known.get(from));
  }

  /** What the thread does next comes after its last arrival. All lanes of a warp must come here. */
  advance(thread: number): void {
    this.#clocks[thread]!++;
  }

  #learn(owner: number | string, more: Knowledge | undefined): void {
    if (more === undefined) return;
    const known = this.#known.get(owner) ?? new Int32Array(this.#clocks.length);
    for (let i = 0; i < known.length; i++) if (more[i]! > known[i]!) known[i] = more[i]!;
    this.#known.set(owner, known);
  }

  /** Whether an access is ordered after a recorded one: by a barrier that both threads have passed, or because one thread did both. */
  areOrdered(record: number, stamp: number): boolean {
    if (record === stamp) return true;
    if (record < 0) return [...(this.#sets[-1 - record]?.values() ?? [])].every((each) => this.areOrdered(each, stamp));
    if (areOrdered(record, stamp)) return true;
    const known = this.#known.get(threadOf(stamp));
    if (known === undefined) return false;
    const isBefore = (thread: number): boolean => clockOf(record) < known[thread]!;
    if (record % 1 === 0) return isBefore(threadOf(record));
    const first = threadOf(record) & ~31;
    return Array.from({ length: 32 }, (_, lane) => first + lane).every(isBefore);
  }

  of(thread: number): number {
    return (this.phase * clocks + this.#clocks[thread]!) * threads + thread;
  }

  /** The record of a place after a read, or a count, given the record of those before. */
  readBy(record: number, stamp: number): number {
    if (record === stamp) return stamp;
    const set = record < 0 ? this.#sets[-1 - record] : undefined;
    if (set === undefined && (record < 0 || phaseOf(record) !== phaseOf(stamp))) return stamp;
    if (set === undefined && warpOf(record) === warpOf(stamp)) return lanesRecord(record, stamp);
    const after = this.#setsAfter.get(record) ?? new Map<number, number>();
    this.#setsAfter.set(record, after);
    const found = after.get(stamp);
    if (found !== undefined) return found;
    const warps = new Map(set ?? [[warpOf(record), record]]);
    warps.set(warpOf(stamp), lanesRecord(warps.get(warpOf(stamp)) ?? stamp, stamp));
    const made = -this.#sets.push(warps);
    after.set(stamp, made);
    return made;
  }
}

/** The record of a place that a warp has read, after a read of the warp. */
function lanesRecord(record: number, stamp: number): number {
  return threadOf(record) === threadOf(stamp) && record % 1 === 0 ? stamp : stamp + manyLanes;
}

/** Whether an access is ordered after a recorded one by a barrier of the block, or because one thread did both. */
function areOrdered(record: number, stamp: number): boolean {
  return phaseOf(record) !== phaseOf(stamp) || (record % 1 === 0 && threadOf(record) === threadOf(stamp));
}

export function threadOf(stamp: number): number {
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
