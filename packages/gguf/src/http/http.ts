import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import { type HttpOptions, identity, NoAnswerError, reasonOf, send, TransientError } from "./request.ts";
import { shownUrl } from "./secrets.ts";

/** What the headers of an answer say of the whole file: two answers with the same version are parts of the same bytes. */
export interface FileVersion {
  /** Bytes of the file, if the server says. */
  readonly total: number | undefined;
  readonly etag: string | undefined;
  /** The header `Last-Modified`. */
  readonly lastModified: string | undefined;
}

/** A response, and the version of the file that it is of. */
export interface RangeResponse extends FileVersion {
  readonly response: Response;
  /** False where the server ignored the range and sends everything. */
  readonly isPartial: boolean;
}

/**
 * How the version of a later answer differs from that of an earlier one, or undefined where nothing says that the file has changed.
 * Without ETags the date of the last change counts.
 */
export function versionChange(before: FileVersion, now: FileVersion): { readonly expected: string; readonly got: string } | undefined {
  if (before.etag !== now.etag) return { expected: `ETag ${before.etag}`, got: String(now.etag) };
  if (before.etag === undefined && before.lastModified !== now.lastModified)
    return { expected: `Last-Modified ${before.lastModified}`, got: String(now.lastModified) };
  const areKnown = before.total !== undefined && now.total !== undefined;
  return areKnown && before.total !== now.total ? { expected: `${before.total} bytes`, got: String(now.total) } : undefined;
}

/**
 * Asks for the bytes from `start` on, up to but without `end`. Nothing of the body has been read yet.
 *
 * The request has no header that makes a browser ask the server for permission first (a CORS preflight, which many hosts of files do
 * not answer) or that bypasses its cache: callers compare the versions of the answers instead of sending `If-Range`.
 * @throws {TransientError} for what another attempt may mend; {GgufError} `io` for other statuses, `changed` for a range that is not there
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
  // A page that cannot see which range it got still knows when that is all of the file.
  const isAll = response.status !== 206 || (isHidden && start === 0 && end === undefined);
  if (isAll) return { response, isPartial: false, total: lengthOf(response), etag, lastModified };
  if (isHidden) throw (await import("./cors.ts")).hiddenRange(url);
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(contentRange ?? "");
  if (range === null || Number(range[1]) !== start) {
    throw new GgufError("io", { expected: `bytes from ${start} of ${shownUrl(url)}`, got: `Content-Range '${range?.[0] ?? ""}'` });
  }
  return { response, isPartial: true, total: range[3] === "*" ? undefined : Number(range[3]), etag, lastModified };
}

/** Whether this is a page or worker of another origin than the URL's, to which its server must give access by CORS. */
export function isOtherOrigin(url: URL): boolean {
  const { origin } = globalThis as { readonly origin?: string };
  return origin !== undefined && origin !== url.origin;
}

/** @throws {TransientError | GgufError} for every status but success */
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
    hint: isSecret ? "it needs permission: give a token (HF_TOKEN for Hugging Face), and accept the model's terms there" : "check the URL",
  });
}

/** @throws {TransientError} for statuses after which asking again may help */
export function checkBusy(response: Response): void {
  const { status } = response;
  if (status !== 408 && status !== 429 && status < 500) return;
  const hint = status === 429 ? "the server limits requests: try again later" : "the server has a problem: try again later";
  throw new TransientError(`HTTP status ${status}`, { retryAfterMs: retryAfterMs(response), hint });
}

/** What `Retry-After` asks for: seconds, or a date by the server's own clock. 0 without one. */
function retryAfterMs({ headers }: Response): number {
  const value = headers.get("Retry-After") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.parse(headers.get("Date") ?? new Date().toUTCString());
  return ms > 0 ? Math.min(ms, mostRetryAfterMs) : 0;
}

function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get("Content-Length");
  return length === null || headers.get("Content-Encoding") !== null ? undefined : Number(length);
}

/** The error of a file that is not what it was when it was opened. */
export function changed(url: URL, expected: string, got: string): GgufError {
  return new GgufError("changed", {
    expected,
    got,
    summary: `${shownUrl(url)} has changed: expected ${expected}, got ${got}`,
    hint: "open it again",
  });
}

/** The longest pause that a server can ask for. */
const mostRetryAfterMs = 60_000;

/** How long the end of a body is waited for when all its bytes have come, in ms. */
const endMs = 1_000;

/**
 * The body piece by piece, at most `length` bytes of it. @throws {TransientError} if it breaks off or nothing comes for `stallMs`
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
    // Not awaited: a broken connection may never answer. One whose end was read serves the next request; to cancel it would close it.
    const isOver = left === 0 ? deadline(() => reader.read(), endMs, undefined).catch(() => undefined) : Promise.resolve();
    void isOver.then(() => reader.cancel()).catch(() => undefined);
  }
}

/** The promise, unless the signal is aborted before; what it stands for then goes on unobserved. */
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

/** What is started, unless `ms` pass or the signal is aborted before. */
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

/** Counts attempts at one thing and pauses between them. */
export class Attempts {
  readonly #url: URL;
  readonly #options: HttpOptions;
  #failures = 0;
  /** Whether the server is known to let this page read its answers. */
  #isReadable = false;

  constructor(url: URL, options: HttpOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Something arrived: the next failure is the first again. */
  progress(): void {
    this.#failures = 0;
    this.#isReadable = true;
  }

  /** Waits until another attempt is due. @throws the error itself if it is lasting; {GgufError} `io` after the last attempt */
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

  /** @throws {GgufError} `io` if the server does not let this page read its answers: no further attempt would help */
  async #checkAccess(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isReadable || !isOtherOrigin(this.#url)) return;
    // Offline, the code for this may not come either.
    const cors = await import("./cors.ts").catch(() => undefined);
    const refusal = await cors?.corsRefusal(this.#url, this.#options, signal);
    if (refusal !== undefined) throw refusal;
    this.#isReadable = true;
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
