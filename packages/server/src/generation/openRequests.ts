/** A request that can be ended early. */
interface OpenRequest {
  finish(): void;
}

/** Milliseconds for requests to end after they were told to: a step of a long prompt on a slow machine. */
const graceMs = 5000;

/** Requests that compute or wait. */
export class OpenRequests {
  readonly #all = new Set<OpenRequest>();
  /** Called once no request is open. */
  readonly #waiting = new Set<() => void>();

  add(request: OpenRequest): void {
    this.#all.add(request);
  }

  delete(request: OpenRequest): void {
    this.#all.delete(request);
    if (this.#all.size > 0) return;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Waits until no request is open. Ends those that are open after a time, and does not wait for one that cannot be ended. */
  async drain(ms: number): Promise<void> {
    await this.#idle(ms);
    for (const request of this.#all) request.finish();
    await this.#idle(graceMs);
  }

  /** Waits until no request is open, or the time is over. */
  async #idle(ms: number): Promise<void> {
    if (this.#all.size === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
      this.#waiting.add(resolve);
    });
    clearTimeout(timer);
  }
}
