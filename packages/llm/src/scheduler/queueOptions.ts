import { checkKeys, wholeNumber } from "../options.ts";

/**
 * Options of the queue of generations, `logits`, `embed`, `perplexity`, `save` and `restoreSession`. Requests are served in order, and leave
 * the queue when their `signal` is aborted.
 */
export interface QueueOptions {
  /** Maximum number of requests that wait for a sequence, and of turns that wait within a session. 0 refuses them. Default 100. */
  readonly max?: number | undefined;
}

/** Capacity of the queue. @throws {ArgumentError} */
export function maxWaitingOf(queue: QueueOptions = {}): number {
  checkKeys("loadModel.queue", queue, ["max"]);
  return wholeNumber("queue.max", queue.max ?? 100, 0);
}
