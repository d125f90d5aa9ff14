/** A request that can be ended early. */
interface OpenRequest {
  finish(): void;
}

/** Requests that compute or wait. */
export class OpenRequests {
  readonly #all = new Set<OpenRequest>();
  #onIdle: (() => void) | undefined;

  add(request: OpenRequest): void {
    this.#all.add(request);
  }

  delete(request: OpenRequest): void {
    this.#all.delete(request);
    if (this.#all.size === 0) this.#onIdle?.();
  }

  /** Waits until none is left, and ends those that are left after a time. */
  async drain(ms: number): Promise<void> {
    if (this.#all.size === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const timer = setTimeout(() => {
      for (const request of this.#all) request.finish();
    }, ms);
    await idle;
    clearTimeout(timer);
  }
}
