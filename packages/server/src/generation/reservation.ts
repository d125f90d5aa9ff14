import type { Permit, Ticket } from "../admission/admission.ts";
import { ApiError, apiErrorOf } from "../errors.ts";
import type { QueuedEvent, RequestOrigin } from "../events.ts";
import type { Call } from "../http/route.ts";
import type { Lease } from "../models/modelEntry.ts";

/** What a request holds while it computes: its model, its place among those of its caller, and its permits. */
export class Reservation {
  readonly lease: Lease;
  readonly #call: Call;
  readonly #leave: () => void;
  readonly #ending = new AbortController();
  readonly #permits = new Set<Permit>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isCancelled = false;

  /** @throws {ApiError} for an unknown model, one that cannot be loaded, and a caller with too many requests */
  static async open(call: Call, model: string | undefined): Promise<Reservation> {
    const { models, callers } = call.services;
    const leave = callers.enter(call.caller);
    try {
      const { requestId, traceparent } = call;
      const lease = await models.use(model, { requestId, traceparent });
      call.noteModel(lease.name);
      return new Reservation(call, lease, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  private constructor(call: Call, lease: Lease, leave: () => void) {
    this.lease = lease;
    this.#call = call;
    this.#leave = leave;
    const { signal, services } = call;
    services.open.add(this);
    if (signal.aborted) this.cancel();
    else signal.addEventListener("abort", this.#cancelled);
  }

  /** Aborted when the client leaves, the time is over, or the server closes. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Whether the client left. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /**
   * Waits for a sequence of the model, and for the slot that the request names. Return it by {@link end}. The time of the request runs from
   * the first one.
   * @throws {ApiError} 503 for a full queue and after the longest time in it; the signal's reason
   */
  async permit(ticket: Pick<Ticket, "tokens" | "priority" | "slot">): Promise<Permit> {
    const { caller, services } = this.#call;
    const { admission } = this.lease;
    const since = performance.now();
    const isFurther = this.#timer !== undefined;
    let isAdmitted = false;
    services.events.emit({ type: "queued", ...this.#origin });
    try {
      const permit = await admission.acquire({ ...ticket, isAdmitted: isFurther, caller: caller.name, signal: this.signal });
      isAdmitted = true;
      this.#permits.add(permit);
      this.#timer ??= setTimeout(() => this.finish(), services.limits.requestTimeoutMs);
      return permit;
    } finally {
      services.events.emit({ type: "dequeued", ...this.#origin, queueMs: performance.now() - since, isAdmitted });
    }
  }

  /** What its events have in common. */
  get #origin(): RequestOrigin & Pick<QueuedEvent, "model"> {
    const { requestId, traceparent } = this.#call;
    return { requestId, model: this.lease.name, traceparent };
  }

  /** Returns a permit. */
  end(permit: Permit): void {
    if (!this.#permits.delete(permit)) return;
    permit.release();
    this.#call.services.events.emit({ type: "released", ...this.#origin });
  }

  /** The reader has everything that was computed, and asks for no more. */
  pause(): void {
    for (const permit of this.#permits) permit.pause();
  }

  resume(): void {
    for (const permit of this.#permits) permit.resume();
  }

  /** Ends the work because the client left. */
  cancel(): void {
    if (this.signal.aborted) return;
    this.#isCancelled = true;
    this.#ending.abort(new ApiError(499, "cancelled", "the client left"));
  }

  /** Ends texts early, as their limit does. */
  finish(): void {
    this.#ending.abort(new ApiError(503, "request_timeout", "expected an end within the time of a request, got none; try again later"));
  }

  /** Frees everything. */
  release(): void {
    clearTimeout(this.#timer);
    this.#call.signal.removeEventListener("abort", this.#cancelled);
    for (const permit of this.#permits) this.end(permit);
    this.#leave();
    this.lease.release();
    this.#call.services.open.delete(this);
  }

  /** What a failure means for the client. */
  failure(error: unknown): ApiError {
    const failure = apiErrorOf(this.signal.aborted ? this.signal.reason : error);
    if (failure.code === "device_lost") this.lease.lose(error);
    return failure;
  }

  readonly #cancelled = (): void => this.cancel();
}
