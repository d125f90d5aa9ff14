import { checkKeys, wholeNumber } from "../options.ts";

/**
 * How requests wait: generations, `logits`, `embed`, `perplexity`, and sessions that are saved or restored. They are served in the order of the
 * calls, and leave the queue when their `signal` is aborted.
 */
export interface QueueOptions {
  /** Requests that may wait for a sequence, and turns of a session that may wait for earlier ones. 0: none, they are refused. Default 100. */
  readonly max?: number | undefined;
}

/** Requests that may wait. @throws {ArgumentError} */
export function maxWaitingOf(queue: QueueOptions = {}): number {
  checkKeys("loadModel.queue", queue, ["max"]);
  return wholeNumber("queue.max", queue.max ?? 100, 0);
}
