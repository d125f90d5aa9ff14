import { ReadKnowledge } from "./asyncReads.ts";
import { Fault, type Who } from "./memory.ts";
import { Stamps } from "./stamps.ts";

/** What addresses of the memory of the cluster's block number 0, 1, … begin at. Addresses below are those of the block itself. */
const window = 2 ** 24;

/** A block of a cluster. */
interface ClusterBlock {
  /** Number of its first thread in the cluster. */
  readonly first: number;
  readonly hasEnded: boolean;
  /** Called when the cluster's barrier is complete. */
  showCopies(): void;
}

/** The last access of a thread to the memory of another block, or its last arrival at a barrier there. */
interface Visit {
  readonly thread: number;
  readonly stamp: number;
  readonly who: string;
  /** The barrier and its phase. */
  readonly arrival: { readonly barrier: number; readonly phase: number } | undefined;
}

/**
 * The blocks of a cluster, and their barrier. Threads are numbered through all blocks. A block without a cluster is one of its own.
 * Source: PTX ISA, "barrier.cluster", "mapa" and "Memory Consistency Model".
 */
export class Cluster<Block extends ClusterBlock> {
  readonly stamps: Stamps;
  readonly reads = new ReadKnowledge();
  /** By rank. */
  readonly blocks: Block[] = [];
  readonly size: number;
  /** By thread, how often it has arrived at the barrier, and has waited there. */
  readonly #arrivals: Int32Array;
  readonly #waits: Int32Array;
  readonly #hasEnded: Uint8Array;
  /** By rank of the visited block, and by thread and barrier. */
  readonly #visits: Map<string, Visit>[];
  /** Number of times that the barrier is known to have completed. */
  #completed = 0;

  constructor(size: number, blockThreads: number) {
    this.size = size;
    const threads = size * blockThreads;
    this.stamps = new Stamps(threads);
    this.#arrivals = new Int32Array(threads);
    this.#waits = new Int32Array(threads);
    this.#hasEnded = new Uint8Array(threads);
    this.#visits = Array.from({ length: size }, () => new Map());
  }

  /** The address of the same place in the memory of block `rank`. */
  map(address: number, rank: number, who: Who): number {
    if (rank >= this.size) throw new Fault(`${who()}: block ${rank} of a cluster of ${this.size}`);
    if (address >= window) throw new Fault(`${who()}: the place of an address that is of another block already`);
    return (rank + 1) * window + address;
  }

  /** The block that an address is of, and the place there. `own` is the block that asks. */
  locate(address: number, own: Block): readonly [Block, number] {
    return address < window ? [own, address] : [this.blocks[Math.floor(address / window) - 1]!, address % window];
  }

  /** A thread arrives at the barrier. Returns the number of the phase, which knowledge goes by. */
  arrive(thread: number, who: Who): string {
    if (this.#arrivals[thread] !== this.#waits[thread])
      throw new Fault(`${who()}: arrives at the cluster's barrier again before it has waited`);
    return `cluster ${++this.#arrivals[thread]!}`;
  }

  /** The number of the phase that a thread waits for, if all threads have arrived at the barrier or ended; else undefined. */
  wait(thread: number, who: Who): string | undefined {
    const phase = this.#arrivals[thread]!;
    if (phase === this.#waits[thread]) throw new Fault(`${who()}: waits at the cluster's barrier, where it has not arrived`);
    if (this.#arrivals.some((arrivals, each) => arrivals < phase && this.#hasEnded[each] === 0)) return undefined;
    this.#waits[thread] = phase;
    if (phase > this.#completed) for (const block of this.blocks) block.showCopies();
    this.#completed = Math.max(this.#completed, phase);
    return `cluster ${phase}`;
  }

  /** Number of arrivals of a thread at the barrier. */
  arrivalsOf(thread: number): number {
    return this.#arrivals[thread]!;
  }

  /** Number of waits of a thread at the barrier that are over. */
  waitsOf(thread: number): number {
    return this.#waits[thread]!;
  }

  /** @throws {Fault} if a thread does not know that another block runs, or the block has ended */
  checkRuns(owner: Block, thread: number, who: Who): void {
    const rank = this.blocks.indexOf(owner);
    if (this.#waits[thread] === 0)
      throw new Fault(`${who()}: access to block ${rank} of the cluster, which may not run yet: a cluster barrier must come first`);
    if (owner.hasEnded) throw new Fault(`${who()}: access to block ${rank} of the cluster, which has ended`);
  }

  /** Notes that a thread touches the memory of another block. See {@link checkRuns}. */
  visit(owner: Block, thread: number, who: Who, arrival?: Visit["arrival"]): void {
    this.checkRuns(owner, thread, who);
    this.#visits[this.blocks.indexOf(owner)]!.set(`${thread} ${arrival?.barrier}`, {
      thread,
      stamp: this.stamps.of(thread),
      who: who(),
      arrival,
    });
  }

  /** Called when a thread of a block has seen a barrier there complete `completed` phases: arrivals of these phases are over. */
  sawPhases(owner: Block, barrier: number, completed: number): void {
    const visits = this.#visits[this.blocks.indexOf(owner)]!;
    for (const [key, { arrival }] of visits) if (arrival?.barrier === barrier && arrival.phase < completed) visits.delete(key);
  }

  endThread(thread: number): void {
    this.#hasEnded[thread] = 1;
  }

  /** @throws {Fault} if threads of other blocks may still touch the memory of a block whose threads have ended */
  endBlock(owner: Block): void {
    const rank = this.blocks.indexOf(owner);
    const ends = Array.from({ length: this.#arrivals.length / this.size }, (_, thread) => this.stamps.of(owner.first + thread));
    for (const { stamp, who } of this.#visits[rank]!.values())
      if (!ends.some((end) => this.stamps.areOrdered(stamp, end)))
        throw new Fault(`block ${rank} of the cluster may end while ${who} touches its memory: a cluster barrier must come between`);
  }
}
