import { abortSignal, check, checkOptions, whole } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { httpKinds, url as urlKind } from "../kinds.ts";
import { limits } from "../limits.ts";
import type { ByteSource } from "../source/byteSource.ts";
import { bytesSource } from "../source/bytesSource.ts";
import { Attempts, bodyOf, type RangeResponse, requestRange } from "./http.ts";
import { RemoteFile } from "./remoteFile.ts";
import { type HttpOptions, TransientError } from "./request.ts";
import { shownUrl } from "./secrets.ts";

export interface HttpSourceOptions extends HttpOptions {
  /** Largest file to read into memory if the server ignores ranges, in bytes. Default 256 MiB; 0 refuses every file. */
  readonly wholeBytes?: number;
  readonly signal?: AbortSignal;
}

/**
 * Opens a URL as a file that is read by HTTP ranges. The first 128 KiB are read now, everything else on demand. Consecutive reads share a
 * request, and cut connections are resumed. If the ETag or size of the file changes, reads reject with `changed`.
 * @throws {GgufError} `io` if the file cannot be read, or if the server ignores ranges and the file is larger than `wholeBytes`
 */
export async function httpSource(url: string | URL, options: HttpSourceOptions = {}): Promise<ByteSource> {
  const remote = httpUrl(url);
  const { wholeBytes = 2 ** 28, signal } = checkOptions("httpSource", options, { ...httpKinds, wholeBytes: whole(0), signal: abortSignal });
  const attempts = new Attempts(remote, options);
  for (;;) {
    try {
      const answer = await requestRange(remote, { start: 0, end: limits.firstRemoteBytes }, options, signal);
      if (!answer.isPartial) return bytesSource(await readWhole(remote, answer, wholeBytes, options));
      const { total, etag, lastModified } = answer;
      if (total === undefined) {
        await answer.response.body?.cancel();
        throw new GgufError("io", { expected: `the size of ${shownUrl(remote)} in Content-Range`, got: "none", hint: "download the file" });
      }
      const prefix = await collect(answer, Math.min(total, limits.firstRemoteBytes), options, signal);
      return new RemoteFile(remote, { size: total, version: { total, etag, lastModified }, prefix }, options);
    } catch (error) {
      await attempts.failed(error, signal);
    }
  }
}

function httpUrl(url: string | URL): URL {
  check("httpSource", "url", url, urlKind);
  if (!URL.canParse(url)) throw new GgufError("range", { expected: "an http(s) URL", got: `'${shownUrl(String(url))}'` });
  return new URL(url);
}

async function readWhole(url: URL, answer: RangeResponse, wholeBytes: number, options: HttpSourceOptions): Promise<Uint8Array> {
  const tooLarge = new GgufError("io", {
    expected: "a server that supports ranges",
    got: `the whole file (${answer.total ?? "unknown"} bytes)`,
    summary: `cannot read ranges of ${shownUrl(url)} (${answer.total ?? "an unknown number of"} bytes): its server ignores ranges`,
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
  for await (const piece of bodyOf(response, options, signal, length)) {
    bytes.set(piece, filled);
    filled += piece.length;
  }
  if (filled < length) throw new TransientError(`${filled} of ${length} bytes came`);
  return bytes;
}
