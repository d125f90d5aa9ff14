import { DisposedError } from "@centella/core";
import { elementAt } from "@centella/quant/checks";
import { BusyError, type Load } from "../errors.ts";
import { Semaphore } from "../scheduler/semaphore.ts";
import type { CacheUsage } from "./cacheUsage.ts";
import { blocksOf, PrefixCache } from "./prefixCache.ts";
import { RecurrentStatePool, type StateCopier, stateRowsPerSequence } from "./recurrentStatePool.ts";
import { Sequence, type SequenceCache, type SequenceOptions } from "./sequence.ts";
import type { SlotCopier } from "./slotCopier.ts";

/** Milliseconds after which an unread stream gives its sequence to a waiting request. */
export const pauseMs = 250;

/** Sizes of a {@link SequencePool}. */
export interface PoolSizes {
  /** Sequences that can be used at the same time. */
  readonly sequences: number;
  /** Blocks of each sequence. */
  readonly blocks: number;
  /** Requests that may wait for a sequence. */
  readonly maxWaiting: number;
}

/** What copies on the device. */
export interface Copiers {
  /** Undefined if the model keeps no keys and values. */
  readonly slots?: SlotCopier | undefined;
  /** Undefined unless the model is recurrent. */
  readonly states?: StateCopier | undefined;
}

/** Options of {@link SequencePool.acquire}. */
export interface AcquireOptions extends SequenceOptions {
  /** Whether the request already had a sequence. It waits like others, but is never refused. Default false. */
  readonly isAdmitted?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Maximum number of short texts that {@link SequencePool.acquireTogether} computes in the blocks of one sequence. */
const maxTogether = 64;

/** Number of texts that can share the blocks of one sequence. Each needs a block, and in recurrent models a state of its own. */
export function textsTogether(contextLength: number, isRecurrent: boolean): number {
  return isRecurrent ? 1 : Math.min(blocksOf(contextLength), maxTogether);
}

/**
 * The sequences of a model's key-value cache. A fixed number of requests hold a sequence at the same time; further requests wait in a queue.
 * A request finds the prefix that its text shares with earlier texts in the cache, unless it was evicted.
 *
 * An unread stream blocks no other request: while requests wait, its sequence is parked, and it waits in the queue when it is read again.
 */
export class SequencePool {
  readonly #cache: Omit<SequenceCache, "readmit">;
  readonly #permits: Semaphore;
  /** Sequences whose streams are not being read, oldest first, with the time of the last read (`performance.now()`). */
  readonly #paused = new Map<Sequence, number>();
  readonly #inUse = new Map<Sequence, Place>();
  readonly #recoveries: () => number;
  /** {@link #recoveries} when the cache was empty last because of them. */
  #recovered = 0;
  #watch: ReturnType<typeof setInterval> | undefined;

  /**
   * @param recoveries number of times that the device was lost, with the cache, and opened again
   */
  constructor({ sequences, blocks, maxWaiting }: PoolSizes, { slots, states }: Copiers = {}, recoveries: () => number = () => 0) {
    this.#cache = {
      prefixCache: new PrefixCache(sequences * blocks),
      slotCopier: slots,
      recurrentStates: states && new RecurrentStatePool(sequences * stateRowsPerSequence, states),
      check: () => this.#check(),
    };
    this.#recoveries = recoveries;
    this.#recovered = recoveries();
    this.#permits = new Semaphore(sequences, maxWaiting, fullQueue);
  }

  get cacheUsage(): CacheUsage {
    return this.#cache.prefixCache.usage;
  }

  /**
   * Waits for a sequence and claims as much of `prefix` as is cached. Call {@link release} when done.
   * @throws {BusyError} if the queue is full; {DisposedError}; the signal's reason
   */
  async acquire(owner: object, prefix: readonly number[] = [], options: AcquireOptions = {}): Promise<Sequence> {
    return elementAt(await this.acquireTogether(owner, [prefix], options), 0);
  }

  /**
   * Like {@link acquire}, with a sequence for each prefix. Together they count as one, and their texts must fit into the blocks of one:
   * see {@link textsTogether}.
   */
  async acquireTogether(
    owner: object,
    prefixes: readonly (readonly number[])[],
    { isAdmitted, signal, ...options }: AcquireOptions = {},
  ): Promise<readonly Sequence[]> {
    const place = new Place(
      (...request) => this.#enter(...request),
      () => this.#permits.release(),
    );
    await Promise.all(prefixes.map(() => place.enter(signal, isAdmitted)));
    const cache: SequenceCache = { ...this.#cache, readmit: (again) => place.enter(again, true) };
    const sequences = prefixes.map(() => new Sequence(cache, owner, options));
    await Promise.all(sequences.map((sequence, i) => sequence.prepare(elementAt(prefixes, i))));
    this.#check();
    for (const [i, sequence] of sequences.entries()) {
      sequence.restart(elementAt(prefixes, i));
      this.#inUse.set(sequence, place);
    }
    return sequences;
  }

  /** Runs `work` with a sequence whose texts are not kept in the cache. @throws the errors of {@link acquire} and `work` */
  async useOnce<T>(options: AcquireOptions, work: (sequence: Sequence) => Promise<T>): Promise<T> {
    const owner = {};
    const sequence = await this.acquire(owner, [], options);
    try {
      return await work(sequence);
    } finally {
      this.release(sequence);
      this.free(owner);
    }
  }

  /** Gives a sequence back. Its tokens stay cached. */
  release(sequence: Sequence): void {
    const place = this.#inUse.get(sequence);
    this.#paused.delete(sequence);
    this.#inUse.delete(sequence);
    if (sequence.isParked) return;
    sequence.release();
    place?.leave();
  }

  /** Marks the stream of a sequence as not being read, until {@link resume}. */
  pause(sequence: Sequence): void {
    this.#paused.set(sequence, performance.now());
  }

  /** Marks the stream of a sequence as being read again. */
  resume(sequence: Sequence): void {
    this.#paused.delete(sequence);
  }

  /** Begins the next text of a request, after the waiting requests. */
  next(sequence: Sequence): void {
    sequence.restart([]);
    if (this.#permits.load.waiting > 0 && !sequence.isParked) this.#park(sequence);
  }

  /** Drops an owner's cached tokens, except where another text continues them. */
  free(owner: object): void {
    this.#cache.prefixCache.forget(owner);
  }

  /** Rejects all waiting and all later requests. */
  dispose(): void {
    this.#permits.close(new DisposedError("model"));
  }

  #check(): void {
    const recoveries = this.#recoveries();
    if (recoveries === this.#recovered) return;
    this.#recovered = recoveries;
    for (const sequence of this.#inUse.keys()) if (!sequence.isParked) this.#park(sequence);
    this.#cache.prefixCache.clear();
    this.#cache.recurrentStates?.clear();
  }

  async #enter(signal: AbortSignal | undefined, isAdmitted = false): Promise<void> {
    if (this.#permits.isFull) this.#parkPaused(1);
    const entering = this.#permits.acquire(signal, isAdmitted);
    if (this.#permits.load.waiting > 0) this.#watch ??= setInterval(() => this.#parkPaused(this.#permits.load.waiting), pauseMs);
    try {
      await entering;
    } finally {
      if (this.#permits.load.waiting === 0) {
        clearInterval(this.#watch);
        this.#watch = undefined;
      }
    }
  }

  /** Parks up to `count` sequences whose streams have not been read for a while. */
  #parkPaused(count: number): void {
    const latest = performance.now() - pauseMs;
    const unread = [...this.#paused].filter(([, since]) => since <= latest);
    for (const [sequence] of unread.slice(0, count)) this.#park(sequence);
  }

  #park(sequence: Sequence): void {
    this.#paused.delete(sequence);
    sequence.park();
    this.#inUse.get(sequence)?.leave();
  }
}

/** A permit that the sequences of one request share. It is returned while all of them are parked or released. */
class Place {
  readonly #acquire: (signal: AbortSignal | undefined, isAdmitted: boolean) => Promise<void>;
  readonly #release: () => void;
  #active = 0;
  #entering: Promise<void> | undefined;

  constructor(acquire: (signal: AbortSignal | undefined, isAdmitted: boolean) => Promise<void>, release: () => void) {
    this.#acquire = acquire;
    this.#release = release;
  }

  /** Counts one more active sequence. The first one waits for the permit, and the rest with it. @throws as `acquire` */
  async enter(signal: AbortSignal | undefined, isAdmitted = false): Promise<void> {
    this.#active++;
    this.#entering ??= this.#acquire(signal, isAdmitted);
    try {
      await this.#entering;
    } catch (error) {
      if (--this.#active === 0) this.#entering = undefined;
      throw error;
    }
  }

  /** Counts one active sequence less. */
  leave(): void {
    if (--this.#active > 0) return;
    this.#entering = undefined;
    this.#release();
  }
}

function fullQueue({ running, waiting, maxWaiting }: Load): BusyError {
  const fix = "wait for one to end, load the model with more sequences, or raise queue.max";
  return new BusyError(
    `model: expected at most ${maxWaiting} requests in the queue, got ${waiting} and one more, with ${running} running; ${fix}`,
    { running, waiting, maxWaiting },
  );
}
