import { apiErrorOf } from "../errors.ts";
import type { Events } from "../events.ts";
import type { ApiForm } from "./apiForm.ts";
import type { Call } from "./route.ts";

/** What a stream is read from. */
export interface StreamSource {
  /** The reader has everything that was computed, and asks for no more. */
  pause(): void;
  resume(): void;
  /** Ends the work, because the client left. */
  close(): Promise<void>;
}

/** How a stream is written. */
export interface StreamFormat {
  readonly api: ApiForm;
  readonly contentType: "text/event-stream" | "application/x-ndjson";
  /** Keeps a silent connection open. */
  readonly ping?: string;
}

/** Server-sent events, with comments as pings. */
export function serverSentEvents(api: ApiForm): StreamFormat {
  return { api, contentType: "text/event-stream", ping: ": ping\n\n" };
}

/** Emits an event if what was thrown is a failure of the server. */
export function reportFailure(events: Events, requestId: string, thrown: unknown): void {
  const error = apiErrorOf(thrown);
  if (error.status >= 500 && error.status !== 503) events.emit({ type: "failure", requestId, error: error.cause ?? error });
}

/**
 * Chunks of a stream that are sent before the next one is computed. Models that compute on this thread may hold it for several tokens, and the
 * first text must not wait for them.
 */
const urgentChunks = 4;

/** Lets the event loop send what was written. */
function nextTask(): Promise<void> {
  const { setImmediate: schedule = setTimeout } = globalThis;
  return new Promise((resolve) => void schedule(resolve));
}

/**
 * A response whose chunks are computed when they are read: a slow reader slows its own texts down. A client that leaves ends them.
 * A failure becomes the last chunk.
 */
export function streamResponse(
  call: Call,
  answer: StreamSource,
  chunks: AsyncGenerator<string, void, undefined>,
  format: StreamFormat,
): Response {
  const { limits } = call.services;
  const encoder = new TextEncoder();
  let pings: ReturnType<typeof setInterval> | undefined;
  let isSilent = false;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const { ping } = format;
      if (ping === undefined) return;
      pings = setInterval(() => {
        if (isSilent && (controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(ping));
        isSilent = true;
      }, limits.pingMs);
    },
    async pull(controller) {
      if (sent > 0 && sent <= urgentChunks) await nextTask();
      answer.resume();
      const text = await nextChunk();
      answer.pause();
      isSilent = false;
      sent++;
      if (text !== undefined) controller.enqueue(encoder.encode(text));
      else {
        clearInterval(pings);
        controller.close();
      }
    },
    async cancel() {
      clearInterval(pings);
      await answer.close();
    },
  });
  let hasFailed = false;
  async function nextChunk(): Promise<string | undefined> {
    if (hasFailed) return undefined;
    try {
      const { value } = await chunks.next();
      return value ?? undefined;
    } catch (thrown) {
      hasFailed = true;
      reportFailure(call.services.events, call.requestId, thrown);
      return format.api.errorChunk(apiErrorOf(thrown), call.requestId);
    }
  }
  // Proxies such as nginx would collect the chunks otherwise.
  return new Response(body, { headers: { "content-type": format.contentType, "cache-control": "no-cache", "x-accel-buffering": "no" } });
}
