import { ApiError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { Slot } from "../models/slots.ts";

/** Milliseconds after which a stream that nobody reads lets another request run. The engine then parks its sequence. */
export const stallMs = 250;

/** A request for a permit. */
export interface Ticket {
  /** Name of the caller. Callers take turns. */
  readonly caller: string;
  /** Lower numbers run first. */
  readonly priority: number;
  /** Prompt tokens, estimated. */
  readonly tokens: number;
  /** Whether the request belongs to one that runs already. It goes first and is never refused. */
  readonly isAdmitted: boolean;
  /** Slot that the request names. It waits until the slot is free, and takes it with the permit. */
  readonly slot?: Slot | undefined;
  readonly signal: AbortSignal;
}

interface Waiter {
  readonly ticket: Ticket;
  readonly since: number;
  readonly admit: (permit: Permit) => void;
}

function lateError(ms: number): ApiError {
  return new ApiError(503, "queue_timeout", `expected a turn within ${ms / 1000} s, got none; try again later`, { retryAfter: 5 });
}

/** The right to use a sequence of a model. */
export class Permit {
  /** Time in the queue. */
  readonly queueMs: number;
  readonly #release: (permit: Permit) => void;
  #pausedAt: number | undefined;

  constructor(queueMs: number, release: (permit: Permit) => void) {
    this.queueMs = queueMs;
    this.#release = release;
  }

  /** Whether the reader has not asked for more for a while. */
  get isStalled(): boolean {
    return this.#pausedAt !== undefined && performance.now() - this.#pausedAt >= stallMs;
  }

  /** The reader has everything that was computed, and asks for no more. */
  pause(): void {
    this.#pausedAt ??= performance.now();
  }

  resume(): void {
    this.#pausedAt = undefined;
  }

  release(): void {
    this.#release(this);
  }
}

/**
 * The queue of a model. As many requests run as the model has sequences, apart from stalled ones. The next to run has the
 * lowest priority number of those that wait, then the caller that was served longest ago, then the earliest arrival. A request
 * whose slot is in use lets others run.
 */
export class Admission {
  readonly #slots: number;
  readonly #limits: Limits;
  readonly #running = new Set<Permit>();
  /** In the order of arrival. */
  readonly #waiting = new Set<Waiter>();
  /** Number of the turn in which each caller was served last. */
  readonly #served = new Map<string, number>();
  #turn = 0;
  #queuedTokens = 0;
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(slots: number, limits: Limits) {
    this.#slots = slots;
    this.#limits = limits;
  }

  /**
   * Waits for a permit.
   * @throws {ApiError} 503 if the queue is full, or after the longest time in it; the signal's reason
   */
  async acquire(ticket: Ticket): Promise<Permit> {
    ticket.signal.throwIfAborted();
    // A stream may have stalled since the last turn.
    this.admit();
    return this.#hasRoom() && isReady(ticket) ? this.#grant(ticket, performance.now()) : this.#wait(ticket);
  }

  /** Lets requests run while there is room. Call it when a slot becomes free. */
  admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#leave(next);
      next.admit(this.#grant(next.ticket, next.since));
    }
  }

  #hasRoom(): boolean {
    let active = 0;
    for (const permit of this.#running) if (!permit.isStalled) active++;
    return active < this.#slots;
  }

  #grant({ caller, slot }: Ticket, since: number): Permit {
    if (slot !== undefined) slot.isProcessing = true;
    this.#served.set(caller, ++this.#turn);
    const permit = new Permit(performance.now() - since, (each) => {
      if (this.#running.delete(each)) this.admit();
    });
    this.#running.add(permit);
    return permit;
  }

  async #wait(ticket: Ticket): Promise<Permit> {
    const { maxQueue, maxQueuedTokens, queueTimeoutMs } = this.#limits;
    const isFull = this.#waiting.size >= maxQueue || this.#queuedTokens + ticket.tokens > maxQueuedTokens;
    if (isFull && !ticket.isAdmitted) {
      const load = `${this.#waiting.size} requests with about ${this.#queuedTokens} tokens wait`;
      throw new ApiError(503, "queue_full", `expected room in the queue, but ${load}; try again later`, { retryAfter: 1 });
    }
    const { signal } = ticket;
    let waiter: Waiter | undefined;
    let leave: (() => void) | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      return await new Promise<Permit>((resolve, reject) => {
        waiter = { ticket, since: performance.now(), admit: resolve };
        leave = () => reject(signal.reason);
        timer = setTimeout(() => reject(lateError(queueTimeoutMs)), queueTimeoutMs);
        signal.addEventListener("abort", leave);
        this.#enter(waiter);
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave!);
      this.#leave(waiter!);
    }
  }

  #enter(waiter: Waiter): void {
    this.#waiting.add(waiter);
    this.#queuedTokens += waiter.ticket.tokens;
    // Streams stall without an event.
    this.#watch ??= setInterval(() => this.admit(), stallMs);
  }

  #leave(waiter: Waiter): void {
    if (!this.#waiting.delete(waiter)) return;
    this.#queuedTokens -= waiter.ticket.tokens;
    if (this.#waiting.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  /** The next request to run, if there is room for one. */
  #next(): Waiter | undefined {
    if (this.#waiting.size === 0 || !this.#hasRoom()) return undefined;
    let best: Waiter | undefined;
    for (const waiter of this.#waiting)
      if (isReady(waiter.ticket) && (best === undefined || this.#isBefore(waiter.ticket, best.ticket))) best = waiter;
    return best;
  }

  #isBefore(a: Ticket, b: Ticket): boolean {
    if (a.isAdmitted !== b.isAdmitted) return a.isAdmitted;
    if (a.priority !== b.priority) return a.priority < b.priority;
    return (this.#served.get(a.caller) ?? 0) < (this.#served.get(b.caller) ?? 0);
  }
}

/** Whether the slot that a request names is free. */
function isReady({ slot }: Ticket): boolean {
  return slot === undefined || !slot.isProcessing;
}
