import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import { type HttpOptions, identity, NoAnswerError, reasonOf, send, TransientError } from "./request.ts";
import { shownUrl } from "./secrets.ts";

/** Version of a file according to the headers of an answer. Two answers with the same version have parts of the same bytes. */
export interface FileVersion {
  /** Size of the file in bytes, if the server sends it. */
  readonly total: number | undefined;
  readonly etag: string | undefined;
  /** The header `Last-Modified`. */
  readonly lastModified: string | undefined;
}

/** A response, and the version of the file in it. */
export interface RangeResponse extends FileVersion {
  readonly response: Response;
  /** False if the server ignored the range and sends the whole file. */
  readonly isPartial: boolean;
}

/**
 * Returns how the version of a later answer differs from that of an earlier one, or undefined if no difference is known. Without ETags,
 * `Last-Modified` is compared.
 */
export function versionChange(before: FileVersion, now: FileVersion): { readonly expected: string; readonly got: string } | undefined {
  if (before.etag !== now.etag) return { expected: `ETag ${before.etag}`, got: String(now.etag) };
  if (before.etag === undefined && before.lastModified !== now.lastModified)
    return { expected: `Last-Modified ${before.lastModified}`, got: String(now.lastModified) };
  const areKnown = before.total !== undefined && now.total !== undefined;
  return areKnown && before.total !== now.total ? { expected: `${before.total} bytes`, got: String(now.total) } : undefined;
}

/**
 * Requests the bytes from `start` to before `end`, or to the end of the file. The body of the response is unread.
 *
 * No header of the request triggers a CORS preflight, which many file hosts do not answer, or bypasses the browser's cache. So callers
 * compare the versions of the answers instead of sending `If-Range`.
 * @throws {TransientError} if another attempt may succeed; {GgufError} `io` for other statuses, `changed` if the file is too short
 */
export async function requestRange(
  url: URL,
  { start, end }: { readonly start: number; readonly end?: number | undefined },
  options: HttpOptions,
  signal: AbortSignal | undefined,
): Promise<RangeResponse> {
  const range = `bytes=${start}-${end === undefined ? "" : end - 1}`;
  const response = await send(url, { headers: { ...options.headers, ...identity, Range: range } }, options, signal);
  try {
    return await checkedRange(url, { start, end }, response);
  } catch (error) {
    await response.body?.cancel().catch(() => undefined);
    throw error;
  }
}

async function checkedRange(
  url: URL,
  { start, end }: { readonly start: number; readonly end: number | undefined },
  response: Response,
): Promise<RangeResponse> {
  checkStatus(url, response, start);
  const etag = response.headers.get("ETag") ?? undefined;
  const lastModified = response.headers.get("Last-Modified") ?? undefined;
  const contentRange = response.headers.get("Content-Range");
  const isHidden = contentRange === null && isOtherOrigin(url);
  // Without a readable range, the whole file is still known if it was requested.
  const isAll = response.status !== 206 || (isHidden && start === 0 && end === undefined);
  if (isAll) return { response, isPartial: false, total: lengthOf(response), etag, lastModified };
  if (isHidden) throw (await import("./cors.ts")).hiddenRange(url);
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(contentRange ?? "");
  if (range === null || Number(range[1]) !== start) {
    throw new GgufError("io", { expected: `bytes from ${start} of ${shownUrl(url)}`, got: `Content-Range '${range?.[0] ?? ""}'` });
  }
  return { response, isPartial: true, total: range[3] === "*" ? undefined : Number(range[3]), etag, lastModified };
}

/** Whether this is a page or worker of another origin than the URL, so that it needs access by CORS. */
export function isOtherOrigin(url: URL): boolean {
  const { origin } = globalThis as { readonly origin?: string };
  return origin !== undefined && origin !== url.origin;
}

/** @throws {TransientError | GgufError} unless the status is a success */
export function checkStatus(url: URL, response: Response, start = 0): void {
  const { status, ok } = response;
  if (ok) return;
  checkBusy(response);
  if (status === 416) throw changed(url, `a file of at least ${start + 1} bytes`, "a shorter one");
  const isSecret = status === 401 || status === 403;
  throw new GgufError("io", {
    expected: "success",
    got: `HTTP status ${status}`,
    summary: `cannot open '${shownUrl(url)}': HTTP status ${status}`,
    hint: isSecret
      ? "it does not exist or needs permission: check its name, or set a token (HF_TOKEN for Hugging Face) and accept the model's terms there"
      : "check the URL",
  });
}

/** @throws {TransientError} for statuses after which another attempt may succeed */
export function checkBusy(response: Response): void {
  const { status } = response;
  if (status !== 408 && status !== 429 && status < 500) return;
  const hint = status === 429 ? "the server limits requests: try again later" : "the server has a problem: try again later";
  throw new TransientError(`HTTP status ${status}`, { retryAfterMs: retryAfterMs(response), hint });
}

/** Pause that `Retry-After` asks for, in ms: given in seconds, or as a date by the server's clock. 0 without the header. */
function retryAfterMs({ headers }: Response): number {
  const value = headers.get("Retry-After") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.parse(headers.get("Date") ?? new Date().toUTCString());
  return ms > 0 ? Math.min(ms, mostRetryAfterMs) : 0;
}

function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get("Content-Length");
  return length === null || headers.get("Content-Encoding") !== null ? undefined : Number(length);
}

/** Returns the error of a file that has changed since it was opened. */
export function changed(url: URL, expected: string, got: string): GgufError {
  return new GgufError("changed", {
    expected,
    got,
    summary: `${shownUrl(url)} has changed: expected ${expected}, got ${got}`,
    hint: "open it again",
  });
}

/** Longest pause that a server can ask for, in ms. */
const mostRetryAfterMs = 60_000;

/** Time to wait for the end of a body after its last byte, in ms. */
const endMs = 1_000;

/**
 * Yields the body in pieces, at most `length` bytes. @throws {TransientError} if the connection is cut or stalls for `stallMs`
 */
export async function* bodyOf(
  { body }: Response,
  { stallMs = 30_000 }: HttpOptions,
  signal: AbortSignal | undefined,
  length: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  let left = length;
  try {
    while (left > 0) {
      const { done, value } = await deadline(() => reader.read(), stallMs, signal);
      if (done) return;
      if (value.length === 0) continue;
      const piece = value.subarray(0, left);
      left -= piece.length;
      yield piece;
    }
  } finally {
    // Not awaited, because a broken connection may never answer. After its end, a connection serves the next request; cancelling closes it.
    const isOver = left === 0 ? deadline(() => reader.read(), endMs, undefined).catch(() => undefined) : Promise.resolve();
    void isOver.then(() => reader.cancel()).catch(() => undefined);
  }
}

/** Returns the result of the promise, or rejects once the signal is aborted. The aborted work goes on unobserved. */
export async function abortable<T>(promise: Promise<T> | undefined, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (promise === undefined || signal === undefined) return promise;
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    stop = () => signal.removeEventListener("abort", abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stop();
  }
}

/** Starts work and returns its result, or rejects after `ms` or once the signal is aborted. */
async function deadline<T>(start: () => Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  let stop: () => void = () => undefined;
  const interrupted = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new TransientError(`no bytes for ${ms} ms`)), ms);
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
  });
  try {
    return await Promise.race([start(), interrupted]);
  } catch (cause) {
    signal?.throwIfAborted();
    throw cause instanceof TransientError ? cause : new TransientError(reasonOf(cause));
  } finally {
    stop();
  }
}

/** Counts the attempts at a request and pauses between them. */
export class Attempts {
  readonly #url: URL;
  readonly #options: HttpOptions;
  #failures = 0;
  /** Whether this page is known to be allowed to read the server's answers. */
  #isReadable = false;

  constructor(url: URL, options: HttpOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Starts counting again after bytes arrived. */
  progress(): void {
    this.#failures = 0;
    this.#isReadable = true;
  }

  /** Waits until the next attempt. @throws the error itself if it is not transient; {GgufError} `io` after the last attempt */
  async failed(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (!(error instanceof TransientError)) throw error;
    if (error instanceof NoAnswerError) await this.#checkAccess(signal);
    const { retries = 4, backoffMs = 500 } = this.#options;
    if (this.#failures >= retries) {
      const got = `${error.message} (${this.#failures + 1} attempts)`;
      throw new GgufError("io", {
        expected: "bytes",
        got,
        summary: `cannot read '${shownUrl(this.#url)}': ${got}`,
        hint: error.hint,
        cause: error,
      });
    }
    await pause(Math.min(Math.max(backoffMs * 2 ** this.#failures, error.retryAfterMs), limits.timerMs), signal);
    this.#failures++;
  }

  /** @throws {GgufError} `io` if the server does not let this page read its answers, so that further attempts are useless */
  async #checkAccess(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isReadable || !isOtherOrigin(this.#url)) return;
    // Offline, this code may not load either.
    const cors = await import("./cors.ts").catch(() => undefined);
    const refusal = await cors?.corsRefusal(this.#url, this.#options, signal);
    if (refusal !== undefined) throw refusal;
    this.#isReadable = true;
  }
}

/** Waits. @throws the signal's reason */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
