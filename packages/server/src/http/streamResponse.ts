import { apiErrorOf } from "../errors.ts";
import type { Events } from "../events.ts";
import type { ApiForm } from "./apiForm.ts";
import type { Call } from "./route.ts";

/** What a stream is read from. */
export interface StreamSource {
  /** Aborted when the work ends early: its last chunks come soon, and do not wait for the reader. */
  readonly signal: AbortSignal;
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
  /** Number of chunks before the first text, which say that the answer has begun. Default 0. */
  readonly preamble?: number;
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
 * Milliseconds in which chunks after the first text are collected, to be sent together: a frame of a display. Each time costs as much as
 * several chunks, most of it in the system. Chunks that come less often are sent at once.
 */
const collectMs = 16;

const encoder = new TextEncoder();

/** Lets the event loop send what was written. Models that compute on this thread may hold it for several tokens. */
function nextTask(): Promise<void> {
  const { setImmediate: schedule = setTimeout } = globalThis;
  return new Promise((resolve) => void schedule(resolve));
}

/**
 * Chunks that are computed while they are read: a slow reader slows its own texts down. Work that ends early does not wait for its reader: the
 * last chunks are kept for it. A failure becomes the last chunk.
 */
class StreamBody implements UnderlyingDefaultSource<Uint8Array> {
  readonly #call: Call;
  readonly #source: StreamSource;
  readonly #chunks: AsyncGenerator<string, void, undefined>;
  readonly #format: StreamFormat;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #pings: ReturnType<typeof setTimeout> | undefined;
  /** What waits for {@link #timer}. */
  #unsent = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sent = 0;
  #sentAt = performance.now();
  #running: Promise<void> | undefined;
  #isCancelled = false;
  #hasFailed = false;
  #onDemand: (() => void) | undefined;

  constructor(call: Call, source: StreamSource, chunks: AsyncGenerator<string, void, undefined>, format: StreamFormat) {
    this.#call = call;
    this.#source = source;
    this.#chunks = chunks;
    this.#format = format;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#source.signal.addEventListener("abort", () => this.#onDemand?.());
    const { ping } = this.#format;
    if (ping !== undefined) this.#pingAfter(this.#call.services.limits.pingMs, ping);
  }

  /** The reader asks for more. */
  pull(): void {
    this.#source.resume();
    this.#running ??= this.#run();
    this.#onDemand?.();
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#stop();
    this.#onDemand?.();
    await this.#source.close();
  }

  async #run(): Promise<void> {
    for (let chunk = await this.#next(); chunk !== undefined && !this.#isCancelled; chunk = await this.#next()) {
      this.#unsent += chunk;
      if (this.#sent <= (this.#format.preamble ?? 0)) {
        this.#send();
        await nextTask();
      } else this.#timer ??= setTimeout(() => this.#send(), Math.max(0, this.#sentAt + collectMs - performance.now()));
      if (!this.#hasDemand && !this.#source.signal.aborted) await this.#demand();
    }
    if (this.#isCancelled) return;
    if (this.#unsent !== "") this.#send();
    this.#stop();
    this.#controller.close();
  }

  get #hasDemand(): boolean {
    return this.#isCancelled || (this.#controller.desiredSize ?? 0) > 0;
  }

  /** Waits until the reader asks for more, or the work ends early. */
  async #demand(): Promise<void> {
    this.#source.pause();
    await new Promise<void>((resolve) => {
      this.#onDemand = resolve;
    });
    this.#onDemand = undefined;
  }

  /** The next chunk. Undefined after the last one. */
  async #next(): Promise<string | undefined> {
    if (this.#hasFailed) return undefined;
    try {
      const { value } = await this.#chunks.next();
      return value ?? undefined;
    } catch (thrown) {
      this.#hasFailed = true;
      const { services, requestId } = this.#call;
      reportFailure(services.events, requestId, thrown);
      return this.#format.api.errorChunk(apiErrorOf(thrown), requestId);
    }
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#controller.enqueue(encoder.encode(this.#unsent));
    this.#unsent = "";
    this.#sent++;
    this.#sentAt = performance.now();
  }

  /** Sends a ping after a time, unless a chunk was sent meanwhile: then its time begins again with the chunk. */
  #pingAfter(ms: number, ping: string): void {
    const { pingMs } = this.#call.services.limits;
    this.#pings = setTimeout(() => {
      const left = this.#sentAt + pingMs - performance.now();
      if (left <= 0 && this.#hasDemand) this.#controller.enqueue(encoder.encode(ping));
      this.#pingAfter(left > 0 ? left : pingMs, ping);
    }, ms);
  }

  #stop(): void {
    clearTimeout(this.#pings);
    clearTimeout(this.#timer);
  }
}

// Proxies such as nginx would collect the chunks otherwise.
const unbuffered = { "cache-control": "no-cache", "x-accel-buffering": "no" };

/** A response whose chunks are computed while they are read. A client that leaves ends them. */
export function streamResponse(
  call: Call,
  source: StreamSource,
  chunks: AsyncGenerator<string, void, undefined>,
  format: StreamFormat,
): Response {
  const body = new ReadableStream<Uint8Array>(new StreamBody(call, source, chunks, format));
  return new Response(body, { headers: { "content-type": format.contentType, ...unbuffered } });
}
