import { ApiError } from "../errors.ts";
import type { Caller } from "../security/keys.ts";

/** Requests in progress of each caller. */
export class CallerLoad {
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request until the returned function is called.
   * @throws {ApiError} 429 if the caller has too many
   */
  enter({ name, maxRequests = Number.POSITIVE_INFINITY }: Caller): () => void {
    const count = this.#counts.get(name) ?? 0;
    if (count >= maxRequests)
      throw new ApiError(429, "rate_limit_exceeded", `expected at most ${maxRequests} requests at a time of this key, got one more`, {
        retryAfter: 1,
      });
    this.#counts.set(name, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#leave(name);
    };
  }

  #leave(name: string): void {
    const count = this.#counts.get(name)! - 1;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
