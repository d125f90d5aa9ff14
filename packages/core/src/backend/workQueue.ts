/** Runs work of a backend in the order of the calls. A failure reaches the caller that awaits the result, not later work. */
export class WorkQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** True while work is queued or under way. */
  get busy(): boolean {
    return this.#pending > 0;
  }

  enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    this.#pending++;
    const result = this.#tail.then(work).finally(() => {
      this.#pending--;
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }

  async idle(): Promise<void> {
    await this.#tail;
  }
}
