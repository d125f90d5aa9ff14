import { GgufError } from "../errors.ts";
import { shownUrl, withoutSecrets } from "./secrets.ts";

/** Options of HTTP requests. */
export interface HttpOptions {
  /** Sent with every request. `fetch` leaves out `Authorization` after a redirect to another origin. Never shown in errors. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Further attempts after cut connections, stalls and statuses 408, 429 and 5xx, counted since the last byte that arrived. Default 4. */
  readonly retries?: number;
  /** Pause before the second attempt, doubled for each further one. Default 500. Servers may ask for up to 60 s (`Retry-After`). */
  readonly backoffMs?: number;
  /** Time without a byte after which a connection counts as cut. Default 30,000. */
  readonly stallMs?: number;
}

/** A failure after which another attempt may succeed. */
export class TransientError extends Error {
  override readonly name: string = "TransientError";
  /** Pause that the server asked for. */
  readonly retryAfterMs: number;
  /** What to do if every attempt fails like this. */
  readonly hint: string;

  constructor(message: string, options: { readonly retryAfterMs?: number; readonly hint?: string } = {}) {
    super(message);
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.hint = options.hint ?? "check the network, then try again";
  }
}

/** A request without an answer: the server cannot be reached, or a browser hides its answer from the page. */
export class NoAnswerError extends TransientError {}

/** Asks for an uncompressed body, whose length is that of the file. Browsers ignore this header and send it themselves with a range. */
export const identity = { "Accept-Encoding": "identity" } as const;

/** Sends one request. @throws {TransientError} if no response arrives; {GgufError} `io` if `fetch` refuses the request, `range` for an invalid header */
export async function send(
  url: URL,
  init: RequestInit & { readonly headers: Readonly<Record<string, string>> },
  options: HttpOptions,
  signal: AbortSignal | undefined,
): Promise<Response> {
  signal?.throwIfAborted();
  const isPlain = url.username === "" && url.password === "" && Object.keys(options.headers ?? {}).length === 0;
  const request = isPlain ? { url, headers: init.headers } : (await import("./credentials.ts")).fetchable(url, init.headers);
  const stalled = new AbortController();
  const { stallMs = 30_000 } = options;
  const timer = setTimeout(() => stalled.abort(new TransientError(`no answer for ${stallMs} ms`)), stallMs);
  const signals = signal === undefined ? stalled.signal : AbortSignal.any([signal, stalled.signal]);
  try {
    return await (options.fetch ?? fetch)(request.url, { ...init, headers: request.headers, signal: signals });
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof TransientError) throw cause;
    // `cause` is not kept: its message and stack may quote the URL and the headers.
    const reason = withoutSecrets(reasonOf(cause), url, init.headers);
    throw isRefusedByFetch(cause) ? refused(url, reason) : new NoAnswerError(reason);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether `fetch` itself refused the request, as for a blocked port. In Node, failures of the network have a code in the cause. */
function isRefusedByFetch(cause: unknown): boolean {
  return cause instanceof TypeError && cause.cause instanceof Error && !("code" in cause.cause);
}

function refused(url: URL, reason: string): GgufError {
  const summary = `cannot read '${shownUrl(url)}': ${reason}`;
  return new GgufError("io", { expected: "a request that fetch accepts", got: reason, summary, hint: "check the URL and its redirects" });
}

/** Returns the message of a failed request. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Node's fetch says only "fetch failed"; the reason is in the cause.
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}
