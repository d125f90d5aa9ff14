import type { ConnectionOptions } from "bullmq";

/** A line of the input, in the form of OpenAI's batch files. */
export interface BatchRequest {
  readonly custom_id: string;
  readonly method: "POST";
  /** Path, such as `/v1/chat/completions`. */
  readonly url: string;
  readonly body: object;
}

/** A line of the results. */
export interface BatchResult {
  readonly id: string;
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: unknown } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export const queueName = "centella";

/** The Valkey or Redis of `REDIS_URL`, by default the one of this machine. */
export const connection: ConnectionOptions = { url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379" };

/** How often a request is tried, and the time before the second try; it doubles with each further one. */
export const retries = { attempts: 4, backoff: { type: "exponential", delay: 1000 } };
