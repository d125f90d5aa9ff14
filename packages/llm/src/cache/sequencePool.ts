import { DisposedError } from "@centella/core";
import { BusyError, type Load } from "../errors.ts";
import { Semaphore } from "../scheduler/semaphore.ts";
import { BlockTree } from "./blockTree.ts";
import { Sequence, type SequenceCache } from "./sequence.ts";
import { type StateCopier, StateRows, stateRowsPerSequence } from "./stateRows.ts";

/** Milliseconds after which a stream that nobody reads gives its sequence to a request that waits. */
export const pauseMs = 250;

/** Sizes of a {@link SequencePool}. */
export interface PoolSizes {
  /** Sequences that can be computed on at once. */
  readonly sequences: number;
  /** Blocks of each. */
  readonly blocks: number;
  /** Requests that may wait for a sequence. */
  readonly maxWaiting: number;
}

/** How a sequence is acquired. */
export interface AcquireOptions {
  /** Which private blocks and states it may read; see `Block.scope`. */
  readonly scope?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The sequences of a model's key-value cache. As many as the model has are computed on at once; further requests wait their turn. A text that
 * begins as another one did finds that beginning cached, unless its room was needed meanwhile.
 *
 * A stream that nobody reads blocks nobody: while requests wait, its sequence is parked, and comes back in turn when it is read again.
 */
export class SequencePool {
  readonly #cache: SequenceCache;
  readonly #permits: Semaphore;
  /** Sequences whose streams are not being read, the first to stop first, and since when. */
  readonly #paused = new Map<Sequence, number>();
  #watch: ReturnType<typeof setInterval> | undefined;

  /** @param copier of a recurrent model */
  constructor({ sequences, blocks, maxWaiting }: PoolSizes, copier?: StateCopier) {
    const states = copier && new StateRows(sequences * stateRowsPerSequence, copier);
    this.#cache = { tree: new BlockTree(sequences * blocks), states, readmit: (signal) => this.#enter(signal, true) };
    this.#permits = new Semaphore(sequences, maxWaiting, fullQueue);
  }

  /**
   * A sequence that holds as much of the beginning of `prefix` as is cached, in turn. Give it back with {@link release}.
   * @throws {BusyError} if the queue is full; {DisposedError}; the signal's reason
   */
  async acquire(owner: object, prefix: readonly number[] = [], { scope, signal }: AcquireOptions = {}): Promise<Sequence> {
    await this.#enter(signal);
    const sequence = new Sequence(this.#cache, owner, scope);
    sequence.restart(prefix);
    return sequence;
  }

  /** Uses a sequence for texts that nobody continues. @throws what {@link acquire} and `work` throw */
  async useOnce<T>(signal: AbortSignal | undefined, work: (sequence: Sequence) => Promise<T>): Promise<T> {
    const owner = {};
    const sequence = await this.acquire(owner, [], { signal });
    try {
      return await work(sequence);
    } finally {
      this.release(sequence);
      this.free(owner);
    }
  }

  /** Ends a use; the tokens stay cached. */
  release(sequence: Sequence): void {
    this.#paused.delete(sequence);
    if (sequence.isParked) return;
    sequence.release();
    this.#permits.release();
  }

  /** Tells that the stream of a sequence is not being read, until {@link resume}. */
  pause(sequence: Sequence): void {
    this.#paused.set(sequence, performance.now());
  }

  /** Tells that the stream of a sequence is read again. */
  resume(sequence: Sequence): void {
    this.#paused.delete(sequence);
  }

  /** Begins the next of a request's texts. Requests that wait go first. */
  next(sequence: Sequence): void {
    sequence.restart([]);
    if (this.#permits.load.waiting > 0 && !sequence.isParked) this.#park(sequence);
  }

  /** Forgets an owner's tokens, as far as no other text continues them. */
  free(owner: object): void {
    this.#cache.tree.forget(owner);
  }

  /** Rejects all requests that wait, and all later ones. */
  dispose(): void {
    this.#permits.close(new DisposedError("model"));
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
    this.#permits.release();
  }
}

function fullQueue({ running, waiting, maxWaiting }: Load): BusyError {
  const fix = "wait for one to end, load the model with more sequences, or raise queue.max";
  return new BusyError(
    `model: expected at most ${maxWaiting} requests in the queue, got ${waiting} and one more, with ${running} running; ${fix}`,
    { running, waiting, maxWaiting },
  );
}
