/** Submits work in the order of the calls: at once if no earlier work waits, otherwise when its turn comes. */
export class SubmissionOrder {
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();

  /** True if work that is posted now is submitted at once. */
  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  /** The work starts after `needs` resolves; later work waits for it too. */
  post<N, T>(needs: Promise<N> | undefined, work: (needs: N | undefined) => T): Promise<T> {
    if (needs === undefined && this.#waiting === 0) {
      try {
        return Promise.resolve(work(undefined));
      } catch (error) {
        return Promise.reject(error);
      }
    }
    this.#waiting++;
    // A rejection before the work's turn is not unhandled.
    needs?.catch(() => undefined);
    const result = this.#tail
      .then(() => needs)
      .then(work)
      .finally(() => this.#waiting--);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  async idle(): Promise<void> {
    await this.#tail;
  }
}

/** Pending promises of the device. A lost device may never settle them, so they are rejected by hand. */
export class PendingWork {
  readonly #rejections = new Set<(error: Error) => void>();

  get size(): number {
    return this.#rejections.size;
  }

  /**
   * `promise`, or a rejection as soon as {@link reject} is called.
   * @param causeOf returns what to reject with in place of an error of `promise`
   */
  watch<T>(promise: Promise<T>, causeOf: (error: unknown) => Promise<unknown>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#rejections.add(reject);
      promise.then(
        (value) => {
          this.#rejections.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.#rejections.delete(reject);
          void causeOf(error).then(reject);
        },
      );
    });
  }

  reject(error: Error): void {
    for (const reject of this.#rejections) reject(error);
    this.#rejections.clear();
  }
}
