import { bytesSource } from "./bytesSource.ts";
import { GgufError } from "./errors.ts";
import { Attempts, bodyOf, changed, type HttpOptions, type RangeResponse, requestRange, shownUrl, TransientError } from "./http.ts";
import { limits } from "./limits.ts";
import type { ByteSource } from "./source.ts";

export interface HttpSourceOptions extends HttpOptions {
  /** From a server that ignores ranges, files up to this size are taken whole into memory. Default 256 MiB; 0 refuses them all. */
  readonly wholeBytes?: number;
  readonly signal?: AbortSignal;
}

/**
 * A file behind a URL, read by HTTP ranges: its first 128 KiB when it is opened, everything else when it is asked for. Cut connections are
 * taken up again where they broke. A file that changes in the meantime (its ETag or size) rejects with `changed`.
 * @throws {GgufError} `io` if it cannot be had, or if the server ignores ranges and the file is larger than `wholeBytes`
 */
export async function httpSource(url: string | URL, options: HttpSourceOptions = {}): Promise<ByteSource> {
  const remote = new URL(url);
  const { wholeBytes = 2 ** 28, signal } = options;
  const attempts = new Attempts(remote, options);
  for (;;) {
    try {
      const answer = await requestRange(remote, { start: 0, end: limits.firstRemoteBytes }, options, signal);
      if (!answer.isPartial) return bytesSource(await whole(remote, answer, wholeBytes, options));
      const { total, etag } = answer;
      if (total === undefined) {
        await answer.response.body?.cancel();
        throw new GgufError("io", { expected: `the size of ${shownUrl(remote)} in Content-Range`, got: "none", hint: "download the file" });
      }
      const prefix = await collect(answer, Math.min(total, limits.firstRemoteBytes), options, signal);
      return new RemoteFile(remote, total, etag, prefix, options);
    } catch (error) {
      await attempts.failed(error, signal);
    }
  }
}

async function whole(url: URL, answer: RangeResponse, wholeBytes: number, options: HttpSourceOptions): Promise<Uint8Array> {
  const tooLarge = new GgufError("io", {
    expected: "a server that gives ranges of a file",
    got: `all of it (${answer.total ?? "unknown"} bytes)`,
    summary: `${shownUrl(url)} comes only whole (${answer.total ?? "an unknown number of"} bytes): its server ignores ranges`,
    hint: `download it first, or raise wholeBytes (${wholeBytes})`,
  });
  if (wholeBytes === 0 || (answer.total !== undefined && answer.total > wholeBytes)) {
    await answer.response.body?.cancel();
    throw tooLarge;
  }
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bodyOf(answer.response, options, options.signal)) {
    length += piece.length;
    if (length > wholeBytes) throw tooLarge;
    pieces.push(piece);
  }
  if (answer.total !== undefined && length !== answer.total) throw new TransientError(`${length} of ${answer.total} bytes came`);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

async function collect({ response }: RangeResponse, length: number, options: HttpOptions, signal?: AbortSignal): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  for await (const piece of bodyOf(response, options, signal)) {
    if (filled + piece.length > length) throw new TransientError("more bytes came than were asked for");
    bytes.set(piece, filled);
    filled += piece.length;
  }
  if (filled < length) throw new TransientError(`${filled} of ${length} bytes came`);
  return bytes;
}

class RemoteFile implements ByteSource {
  readonly size: number;
  readonly #url: URL;
  readonly #etag: string | undefined;
  readonly #prefix: Uint8Array;
  readonly #options: HttpOptions;

  constructor(url: URL, size: number, etag: string | undefined, prefix: Uint8Array, options: HttpOptions) {
    this.#url = url;
    this.size = size;
    this.#etag = etag;
    this.#prefix = prefix;
    this.#options = options;
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const end = offset + length;
    if (end <= this.#prefix.length) return this.#prefix.subarray(offset, end);
    const bytes = new Uint8Array(length);
    let filled = 0;
    for await (const piece of this.#pieces(offset, end, signal)) {
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  /** One request serves as much as the reader takes. */
  stream(offset: number, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#pieces(offset, this.size, signal);
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
        for await (const piece of bodyOf(answer.response, this.#options, signal)) {
          const wanted = piece.subarray(0, end - at);
          at += wanted.length;
          attempts.progress();
          yield wanted;
          if (at === end) return;
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
