import type { AsyncReads } from "./asyncReads.ts";
import { Fault, type Region } from "./memory.ts";
import { type ProductParts, type ProductShape, Warpgroup, warpgroupThreads } from "./warpgroups.ts";

/** Products of a block's warpgroups, and their reads of shared memory. The calling thread is the first parameter of each method. */
export class BlockProducts {
  readonly #shared: Region;
  readonly #reads: AsyncReads;
  /** Number of the block's first thread in its cluster. */
  readonly #first: number;
  readonly #checkRead: (address: number, bytes: number, threads: readonly number[]) => void;
  /** By first thread. */
  readonly #warpgroups = new Map<number, Warpgroup>();
  /** Registers that warpgroups have asked for, by first thread. */
  readonly #registers = new Map<number, number>();

  /** @param checkRead throws a {@link Fault} if a product that `threads` start may not read shared memory there */
  constructor(
    shared: Region,
    reads: AsyncReads,
    first: number,
    checkRead: (address: number, bytes: number, threads: readonly number[]) => void,
  ) {
    this.#first = first;
    this.#shared = shared;
    this.#reads = reads;
    this.#checkRead = checkRead;
  }

  /** Starts a product, once for all threads of the warpgroup, which hand in their parts in `held`. */
  start(thread: number, shape: ProductShape, held: readonly unknown[]): void {
    const first = firstOf(thread);
    if (thread !== first) return;
    const name = nameOf(first);
    const warps = [0, 32, 64, 96].map((lane) => first + lane);
    const parts = held.slice(first, first + warpgroupThreads) as ProductParts[];
    this.#warpgroup(thread).start(shape, parts, (address) => {
      this.#checkRead(address, 16, warps);
      this.#reads.begin(name, (each) => firstOf(each - this.#first) === first, address, 16);
      return [this.#shared.view, address];
    });
  }

  /** Notes the thread's left matrix in a list of registers, which a product begins to read. */
  holdFragment(thread: number, list: number, words: readonly number[]): void {
    this.#warpgroup(thread).holdFragment(list, thread, words);
  }

  holdsFragment(thread: number, list: number): boolean {
    return this.#warpgroup(thread).holdsFragment(list, thread);
  }

  checkFragment(thread: number, list: number, words: readonly number[]): void {
    this.#warpgroup(thread).checkFragment(list, thread, words);
  }

  /** Ends a group of products, once for all threads of the warpgroup. */
  commit(thread: number): void {
    if (thread !== firstOf(thread)) return;
    this.#warpgroup(thread).commit();
    this.#reads.commit(nameOf(thread));
  }

  /** Waits until all groups but the last `pending` ones are over, once for all threads of the warpgroup. */
  wait(thread: number, pending: number): void {
    if (thread !== firstOf(thread)) return;
    this.#warpgroup(thread).wait(pending);
    this.#reads.wait(nameOf(thread), pending);
  }

  /** The thread's sums in a list of registers, once after the wait for them. */
  takeSums(thread: number, list: number): Float32Array | undefined {
    return this.#warpgroup(thread).take(list, thread);
  }

  /** Warpgroups of a block of `threads` threads hand each other the registers that the block has at launch: more would be waited for forever. */
  setRegisters(thread: number, count: number, threads: number): void {
    if (count % 8 !== 0 || count < 24 || count > 256) throw new Fault(`thread ${thread}: ${count} registers`);
    this.#registers.set(firstOf(thread), count);
    const asked = [...this.#registers.values()].reduce((sum, each) => sum + each, 0);
    const most = (threads / warpgroupThreads) * (Math.floor(65536 / threads / 8) * 8);
    if (asked > most) throw new Fault(`thread ${thread}: warpgroups ask for ${asked} registers per thread together, the block has ${most}`);
  }

  /** @throws {Fault} if products are under way when the block ends */
  finish(): void {
    for (const warpgroup of this.#warpgroups.values()) warpgroup.finish();
  }

  #warpgroup(thread: number): Warpgroup {
    const warpgroup = this.#warpgroups.get(firstOf(thread)) ?? new Warpgroup();
    this.#warpgroups.set(firstOf(thread), warpgroup);
    return warpgroup;
  }
}

/** First thread of a thread's warpgroup. */
function firstOf(thread: number): number {
  return thread - (thread % warpgroupThreads);
}

function nameOf(first: number): string {
  return `a product of threads ${first} to ${first + warpgroupThreads - 1}`;
}
