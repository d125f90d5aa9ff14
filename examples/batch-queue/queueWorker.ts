import type { Handler } from "@centella/server";
import { type Job, UnrecoverableError, Worker } from "bullmq";
import { type BatchRequest, type BatchResult, connection, queueName } from "./queue.ts";

/** Requests of a worker at the same time, which share the runs of its model. */
export const concurrency = 4;

/** Milliseconds after which another worker takes over the requests of a worker that has crashed. */
const lockMs = Number(process.env.LOCK_MS ?? 30_000);

/** Answers requests until the worker is closed. */
export function work({ fetch }: Pick<Handler, "fetch">): Worker<BatchRequest, BatchResult> {
  const answer = async ({ id, data }: Job<BatchRequest>): Promise<BatchResult> => {
    const { custom_id, url, method, body } = data;
    const response = await fetch(new Request(new URL(url, "http://localhost"), { method, body: JSON.stringify(body) }));
    const { status } = response;
    // The server is busy or starts: the request is tried again.
    if (status === 429 || status === 503) throw new Error(`status ${status}`);
    const text = await response.text();
    // A failure of the server may not occur again.
    if (status >= 500) throw new Error(text);
    if (!response.ok) throw new UnrecoverableError(text);
    const request_id = response.headers.get("x-request-id") ?? "";
    return { id: id!, custom_id, response: { status_code: status, request_id, body: JSON.parse(text) }, error: null };
  };
  return new Worker(queueName, answer, {
    connection,
    concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    // A request that has crashed workers thrice fails.
    maxStalledCount: 3,
  });
}
