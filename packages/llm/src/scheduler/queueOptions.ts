import { checkKeys, checkValue, whole } from "@centella/quant/checks";

/**
 * Options of the queue of requests: `generate`, `complete`, `logits`, `embed`, `perplexity`, `save` and `restoreSession`. Requests are served
 * in order, and leave the queue when their `signal` is aborted.
 */
export interface QueueOptions {
  /** Maximum number of requests that wait for a sequence, and of turns that wait within a session. 0 refuses them. Default 100. */
  readonly max?: number | undefined;
}

/** Capacity of the queue. @throws {ArgumentError} */
export function maxWaitingOf(queue: QueueOptions = {}): number {
  checkKeys("loadModel.queue", queue, ["max"]);
  return checkValue("queue.max", queue.max ?? 100, whole(0));
}
