import type { ByteSource } from "../source/byteSource.ts";
import { Attempts, bodyOf, changed, type FileVersion, type RangeResponse, requestRange, versionChange } from "./http.ts";
import { OpenResponse, skippedBytes } from "./openResponse.ts";
import { type HttpOptions, TransientError } from "./request.ts";

/** Facts about a remote file from the answer to its first request. */
export interface RemoteFileInfo {
  readonly size: number;
  readonly version: FileVersion;
  /** The first bytes of the file. */
  readonly prefix: Uint8Array;
}

/**
 * A file of known size at a URL. A read that continues where the last one ended requests the rest of the file, and further reads use that
 * response. So a model is loaded by one request, not one per tensor, and arrives while tensors are repacked.
 */
export class RemoteFile implements ByteSource {
  readonly size: number;
  readonly #url: URL;
  readonly #version: FileVersion;
  readonly #prefix: Uint8Array;
  readonly #options: HttpOptions;
  /** End of the last read. */
  #lastEnd = -1;
  /** The response that the next read may continue. */
  #idle: OpenResponse | undefined;

  constructor(url: URL, { size, version, prefix }: RemoteFileInfo, options: HttpOptions) {
    this.#url = url;
    this.size = size;
    this.#version = version;
    this.#prefix = prefix;
    this.#options = options;
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const end = offset + length;
    if (end <= this.#prefix.length) return this.#prefix.subarray(offset, end);
    const bytes = new Uint8Array(length);
    await this.readInto(bytes, offset, signal);
    return bytes;
  }

  async readInto(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void> {
    const end = offset + target.length;
    if (end <= this.#prefix.length) {
      target.set(this.#prefix.subarray(offset, end));
      return;
    }
    const response = this.#responseFor(offset, end);
    this.#lastEnd = end;
    try {
      await response.take(target, offset, signal);
      this.#keep(response);
    } catch (error) {
      response.close();
      throw error;
    }
  }

  /** Streams the file by one request, which also serves the reads that continue where the reader stopped. */
  async *stream(offset: number, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    let at = offset;
    if (at < this.#prefix.length) {
      const piece = this.#prefix.subarray(at);
      at += piece.length;
      yield piece;
    }
    if (at === this.size) return;
    const response = this.#responseFor(at, this.size);
    let last: Uint8Array | undefined;
    try {
      while (response.at < this.size) {
        last = await response.piece(signal);
        yield last;
      }
    } catch (error) {
      last = undefined;
      response.close();
      throw error;
    } finally {
      if (last !== undefined) {
        // The reader may have used only the start of the last piece.
        response.putBack(last);
        this.#keep(response);
      }
    }
  }

  async close(): Promise<void> {
    this.#idle?.close();
    this.#idle = undefined;
  }

  /** Returns the idle response if this read can continue it, or a new one. No other read can use the response in the meantime. */
  #responseFor(offset: number, end: number): OpenResponse {
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle?.isFollowedBy(offset, end)) {
      idle.isUsed();
      return idle;
    }
    idle?.close();
    const follows = offset >= this.#lastEnd && offset - this.#lastEnd <= skippedBytes && this.#lastEnd >= 0;
    const last = follows ? this.size : end;
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

  /** Yields bytes `offset … end - 1` in order, over as many connections as needed. */
  async *#pieces(offset: number, end: number, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, undefined> {
    let at = offset;
    if (at < this.#prefix.length && at < end) {
      const piece = this.#prefix.subarray(at, end);
      at += piece.length;
      yield piece;
    }
    const attempts = new Attempts(this.#url, this.#options);
    // This page was allowed to read the prefix.
    attempts.progress();
    while (at < end) {
      try {
        const answer = await requestRange(this.#url, { start: at, end }, this.#options, signal);
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

  /** @throws {GgufError} `changed` if the answer is from another version of the file */
  async #check(answer: RangeResponse): Promise<void> {
    const change = answer.isPartial ? versionChange(this.#version, answer) : { expected: "the requested range", got: "the whole file" };
    if (change === undefined) return;
    await answer.response.body?.cancel().catch(() => undefined);
    throw changed(this.#url, change.expected, change.got);
  }
}
