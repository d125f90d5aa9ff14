import { withoutSecrets } from "./secrets.ts";

/** How requests are made. */
export interface HttpOptions {
  /** Sent with every request; `fetch` leaves out `Authorization` after a redirect to another origin. Never shown in errors. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Further attempts after cut connections, stalls and statuses 408, 429 and 5xx; each byte that arrives gives all of them back. Default 4. */
  readonly retries?: number;
  /** Pause before the first further attempt, doubled for each one after it. Default 500. Servers may ask for up to 60 s (`Retry-After`). */
  readonly backoffMs?: number;
  /** Without a byte for this long, a connection counts as cut. Default 30,000. */
  readonly stallMs?: number;
}

/** A failure that may be gone at the next attempt. */
export class TransientError extends Error {
  override readonly name: string = "TransientError";
  /** How long the server asks to be left alone. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A request without any answer: the server cannot be reached, or a browser keeps its answer from the page. */
export class NoAnswerError extends TransientError {}

/** A compressed body has other lengths than the file. Browsers send this of their own accord with a range, and leave ours out. */
export const identity = { "Accept-Encoding": "identity" } as const;

/** One request. @throws {TransientError} where no response comes; {GgufError} `range` for a header that HTTP cannot carry */
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
    // Not kept as the cause: its message and stack may quote the URL and the headers.
    throw cause instanceof TransientError ? cause : new NoAnswerError(withoutSecrets(reasonOf(cause), url, init.headers));
  } finally {
    clearTimeout(timer);
  }
}

/** The words of a failed request. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Node's fetch says "fetch failed" and puts what happened into the cause.
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}
