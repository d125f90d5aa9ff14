import type { Handler } from "@centella/server";
import type { BatchRequest } from "./batchRequest.ts";
import { windowsOf } from "./requestWindow.ts";
import type { BatchResult } from "./resultFile.ts";

/** How a batch is answered. */
export interface BatchRun {
  readonly handler: Handler;
  /** Most requests at the same time. */
  readonly inFlight: number;
  readonly signal: AbortSignal;
  /** Called with each result as it finishes. */
  readonly take: (result: BatchResult) => Promise<void>;
}

/** Answers requests, as many at the same time as allowed. @throws the error of reading or of `take`; the signal's reason */
export async function runBatch(requests: AsyncIterable<BatchRequest>, { handler, inFlight, signal, take }: BatchRun): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: unknown;
  const run = async (request: BatchRequest, end: () => void): Promise<void> => {
    try {
      const result = await withOwnSignal(signal, (own) => answer(handler, request, own));
      // An aborted request is answered by the next run.
      if (!signal.aborted) await take(result);
    } catch (error) {
      failure ??= error;
    } finally {
      end();
    }
  };
  const check = (): void => {
    signal.throwIfAborted();
    if (failure !== undefined) throw failure;
  };
  try {
    for await (const window of windowsOf(requests)) {
      while (!window.isEmpty) {
        check();
        const turn = running.size < inFlight ? window.take() : undefined;
        if (turn === undefined) {
          await Promise.race(running);
          continue;
        }
        const task: Promise<void> = run(turn.request, turn.end).finally(() => running.delete(task));
        running.add(task);
      }
    }
  } finally {
    await Promise.all(running);
  }
  check();
}

/** Calls `use` with a signal that follows another one until then. A `Request` listens to its signal until it is garbage. */
async function withOwnSignal<T>(signal: AbortSignal, use: (own: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await use(controller.signal);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function answer({ fetch }: Handler, { line, customId, url, body }: BatchRequest, signal: AbortSignal): Promise<BatchResult> {
  const response = await fetch(new Request(`http://localhost${url}`, { method: "POST", body: JSON.stringify(body), signal }));
  const content = (await response.json()) as { readonly error?: { readonly code?: unknown; readonly message?: unknown } };
  const { code = "error", message = "" } = content.error ?? {};
  return {
    id: `batch-${line}`,
    custom_id: customId,
    response: { status_code: response.status, request_id: response.headers.get("x-request-id") ?? "", body: content },
    error: response.ok ? null : { code: String(code), message: String(message) },
  };
}
