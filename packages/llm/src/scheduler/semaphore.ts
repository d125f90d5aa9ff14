import type { BusyError, Load } from "../errors.ts";

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A counting semaphore. Permits are granted in the order of the requests. */
export class Semaphore {
  readonly #permits: number;
  readonly #maxWaiting: number;
  /** Creates the error for a request that finds the queue full. */
  readonly #refuse: (load: Load) => BusyError;
  readonly #waiting = new Set<Waiter>();
  #running = 0;
  #closed: Error | undefined;

  constructor(permits: number, maxWaiting: number, refuse: (load: Load) => BusyError) {
    this.#permits = permits;
    this.#maxWaiting = maxWaiting;
    this.#refuse = refuse;
  }

  get load(): Load {
    return { running: this.#running, waiting: this.#waiting.size, maxWaiting: this.#maxWaiting };
  }

  /** Whether {@link acquire} would have to wait. */
  get isFull(): boolean {
    return this.#running >= this.#permits;
  }

  /**
   * Takes a permit after all waiting requests. The signal ends the wait. A request with `isAdmitted` already had a permit and is never refused.
   * @throws {BusyError} if the queue is full; the signal's reason; the error of {@link close}
   */
  async acquire(signal?: AbortSignal, isAdmitted = false): Promise<void> {
    if (this.#closed !== undefined) throw this.#closed;
    if (!this.isFull) {
      this.#running++;
      return;
    }
    signal?.throwIfAborted();
    if (!isAdmitted && this.#waiting.size >= this.#maxWaiting) throw this.#refuse(this.load);
    await this.#wait(signal);
  }

  /** Returns a permit, or passes it to the first waiting request. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next.resolve();
  }

  /** Rejects all waiting and all later requests. */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { reject } of this.#waiting) reject(this.#closed);
    this.#waiting.clear();
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    let abort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { resolve, reject };
        this.#waiting.add(waiter);
        abort = () => {
          // If the permit was already granted, the caller has it.
          if (this.#waiting.delete(waiter)) reject(signal?.reason);
        };
        signal?.addEventListener("abort", abort);
      });
    } finally {
      if (abort !== undefined) signal?.removeEventListener("abort", abort);
    }
  }
}
