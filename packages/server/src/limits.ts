/** Bounds on what requests may take. Times are in milliseconds. */
export interface Limits {
  /** Requests that may wait for each model. */
  readonly maxQueue: number;
  /** Prompt tokens of the requests that wait for each model, with their tools, estimated as a quarter of the characters. */
  readonly maxQueuedTokens: number;
  /** Longest time in the queue. */
  readonly queueTimeoutMs: number;
  /** Longest time of a generation after its time in the queue. Its text then ends with the finish reason "length". */
  readonly requestTimeoutMs: number;
  /** Largest body of a request, in bytes. */
  readonly maxBody: number;
  /** Time of silence after which a comment keeps a stream open. */
  readonly pingMs: number;
  /**
   * Bytes of the weights and caches of all loaded models. If they take more, lazy models without a request are unloaded, the least recently
   * used one first.
   */
  readonly maxModelMemory: number;
}

/** The limits that apply unless others are given. */
export const defaultLimits: Limits = {
  maxQueue: 100,
  maxQueuedTokens: 1_000_000,
  queueTimeoutMs: 60_000,
  requestTimeoutMs: 600_000,
  maxBody: 16 * 2 ** 20,
  pingMs: 15_000,
  maxModelMemory: Number.POSITIVE_INFINITY,
};
