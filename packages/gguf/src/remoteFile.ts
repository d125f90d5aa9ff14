import { Attempts, bodyOf, changed, type HttpOptions, type RangeResponse, requestRange, TransientError } from "./http.ts";
import type { ByteSource } from "./source.ts";

/** Bytes between two reads, such as the padding between tensors, that are skipped rather than asked around. */
const mostSkipped = 65_536;

/** How long a response stays open for the next read, in ms. An open one keeps a connection, and Node's process. */
const idleMs = 2_000;

/** What is known of a file when its first bytes have come. */
export interface RemoteFileInfo {
  readonly size: number;
  readonly etag: string | undefined;
  /** Its first bytes. */
  readonly prefix: Uint8Array;
}

/**
 * A file of known size behind a URL. A read that goes on where the last one ended asks for all the rest of the file, and further ones take
 * their bytes from that response: a model is loaded by one request, not by one for each tensor, and comes while tensors are repacked.
 */
export class RemoteFile implements ByteSource {
  readonly size: number;
  readonly #url: URL;
  readonly #etag: string | undefined;
  readonly #prefix: Uint8Array;
  readonly #options: HttpOptions;
  /** Where the last read ended. */
  #lastEnd = -1;
  /** The response that the next read may go on with. */
  #idle: OpenResponse | undefined;

  constructor(url: URL, { size, etag, prefix }: RemoteFileInfo, options: HttpOptions) {
    this.#url = url;
    this.size = size;
    this.#etag = etag;
    this.#prefix = prefix;
    this.#options = options;
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const end = offset + length;
    if (end <= this.#prefix.length) return this.#prefix.subarray(offset, end);
    const response = this.#responseFor(offset, end);
    this.#lastEnd = end;
    try {
      const bytes = await response.take(offset, length, signal);
      this.#keep(response);
      return bytes;
    } catch (error) {
      response.close();
      throw error;
    }
  }

  /** One request serves as much as the reader takes. */
  stream(offset: number, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#pieces(offset, this.size, signal);
  }

  async close(): Promise<void> {
    this.#idle?.close();
    this.#idle = undefined;
  }

  /** The open response if this read goes on with it, which is then nobody else's, or a new one. */
  #responseFor(offset: number, end: number): OpenResponse {
    const idle = this.#idle;
    this.#idle = undefined;
    const follows = (at: number): boolean => offset >= at && offset - at <= mostSkipped;
    if (idle !== undefined && follows(idle.at) && end <= idle.end) {
      idle.isUsed();
      return idle;
    }
    idle?.close();
    const last = follows(this.#lastEnd) ? this.size : end;
    return new OpenResponse(offset, last, (signal) => this.#pieces(offset, last, signal));
  }

  #keep(response: OpenResponse): void {
    if (response.at === response.end || this.#idle !== undefined) {
      response.close();
      return;
    }
    this.#idle = response;
    response.isIdle(() => {
      if (this.#idle === response) this.#idle = undefined;
    });
  }

  /** Bytes `offset … end - 1` in order, over as many connections as it takes. */
  async *#pieces(offset: number, end: number, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, undefined> {
    let at = offset;
    if (at < this.#prefix.length && at < end) {
      const piece = this.#prefix.subarray(at, end);
      at += piece.length;
      yield piece;
    }
    const attempts = new Attempts(this.#url, this.#options);
    while (at < end) {
      try {
        const answer = await requestRange(this.#url, { start: at, end, etag: this.#etag }, this.#options, signal);
        await this.#check(answer);
        for await (const piece of bodyOf(answer.response, this.#options, signal, end - at)) {
          at += piece.length;
          attempts.progress();
          yield piece;
        }
        if (at < end) throw new TransientError(`the connection ended ${end - at} bytes early`);
      } catch (error) {
        await attempts.failed(error, signal);
      }
    }
  }

  async #check({ response, isPartial, total, etag }: RangeResponse): Promise<void> {
    if (isPartial && (total === undefined || total === this.size) && etag === this.#etag) return;
    await response.body?.cancel().catch(() => undefined);
    if (!isPartial) throw changed(this.#url, "the range that was asked for", "the whole file");
    if (etag !== this.#etag) throw changed(this.#url, `ETag ${this.#etag}`, String(etag));
    throw changed(this.#url, `${this.size} bytes`, String(total));
  }
}

/** Bytes `at … end - 1` of a file on their way, taken in order by one read after the other. */
class OpenResponse {
  /** The next byte. */
  at: number;
  readonly end: number;
  readonly #pieces: AsyncGenerator<Uint8Array, void, undefined>;
  readonly #controller = new AbortController();
  /** What has come and was not taken yet. */
  #rest: Uint8Array = new Uint8Array();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(at: number, end: number, open: (signal: AbortSignal) => AsyncGenerator<Uint8Array, void, undefined>) {
    this.at = at;
    this.end = end;
    this.#pieces = open(this.#controller.signal);
  }

  /** Bytes from `offset` on, which is not before `at`; what lies between is dropped. @throws the signal's reason */
  async take(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const abort = (): void => this.#controller.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const bytes = new Uint8Array(length);
      while (this.at < offset + length) {
        if (this.#rest.length === 0) {
          const { done, value } = await this.#pieces.next();
          if (done === true) throw new TransientError("the response was closed");
          this.#rest = value;
        }
        const from = Math.max(0, offset - this.at);
        const until = Math.min(this.#rest.length, offset + length - this.at);
        if (from < until) bytes.set(this.#rest.subarray(from, until), this.at + from - offset);
        this.at += until;
        this.#rest = this.#rest.subarray(until);
      }
      return bytes;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Closes itself if nobody takes anything for a while. */
  isIdle(onClose: () => void): void {
    this.#timer = setTimeout(() => {
      this.close();
      onClose();
    }, idleMs);
    // In Node an object: a process ends without waiting for it.
    (this.#timer as { unref?(): void }).unref?.();
  }

  isUsed(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    clearTimeout(this.#timer);
    if (this.at === this.end) {
      // All of it came: its end lets the connection serve the next request.
      void this.#pieces.next().catch(() => undefined);
      return;
    }
    // Ends the generator at its next step, and a request that is under way at once.
    void this.#pieces.return().catch(() => undefined);
    this.#controller.abort();
  }
}
