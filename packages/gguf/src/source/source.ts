import { abortSignal, byteArray, check, checkOptions, isAttached, kind, number, whole } from "@centella/quant/checks";
import { DisposedError, GgufError } from "../errors.ts";
import { shownUrl, withoutSecrets } from "../http/secrets.ts";
import { hasMethods } from "../kinds.ts";
import { shownPath } from "../shown.ts";
import type { ByteSource, GgufInput } from "./byteSource.ts";
import { bytesSource } from "./bytesSource.ts";
import { isHttp, placeOf } from "./place.ts";
import { requireAll, requireWithin } from "./readRange.ts";

/**
 * Opens any input as a source whose reads are checked. A read outside the source rejects with `range`, a read of too few bytes with
 * `truncated`, and an aborted read with the signal's reason.
 * @throws {GgufError} `io` if a path cannot be opened or is not a file
 * @throws {ArgumentError} for a value that is not an input
 */
export async function openSource(input: GgufInput, options: { readonly signal?: AbortSignal } = {}): Promise<ByteSource> {
  checkOptions("openSource", options, { signal: abortSignal });
  return checked(await open(input, options.signal));
}

async function open(input: GgufInput, signal: AbortSignal | undefined): Promise<ByteSource> {
  if (isPlace(input)) return openPlace(input, signal);
  if (input instanceof Blob) return blobSource(input);
  if (input instanceof ArrayBuffer) return bytesSource(new Uint8Array(check("open", "input", input, attached)));
  if (input instanceof Uint8Array) return bytesSource(check("open", "input", input, attached));
  return check("open", "input", input, byteSource);
}

const attached = kind("bytes whose buffer is not detached", (value) => isAttached(value as Uint8Array));
const byteSource = kind(
  "a path, URL, Blob, ArrayBuffer, Uint8Array or ByteSource { size, read }",
  (value) => hasMethods(value, ["read"], ["readInto", "stream", "close"]) && whole(0).accepts((value as ByteSource).size),
);

/** Whether the input names a file, which is then opened and closed by this package. */
export function isPlace(input: unknown): input is string | URL {
  return typeof input === "string" || input instanceof URL;
}

async function openPlace(input: string | URL, signal: AbortSignal | undefined): Promise<ByteSource> {
  const place = placeOf(input);
  if (place.kind === "path") return (await import("./pathSource.ts")).pathSource(place.path);
  if (place.kind === "url") return openUrl(place.url, signal);
  const hint = "a model on a hub may have several files: pass the reference itself to readGguf or loadModel, or pull it first";
  throw new GgufError("range", { expected: "a file", got: `'${shownPath(place.reference)}'`, hint });
}

async function openUrl(url: URL, signal: AbortSignal | undefined): Promise<ByteSource> {
  if (url.protocol === "file:") return (await import("./pathSource.ts")).pathSource(url);
  if (isHttp(url)) {
    // Imported on demand, because pages store most models instead of reading them by ranges.
    const { httpSource } = await import("../http/httpSource.ts");
    return httpSource(url, signal && { signal });
  }
  return blobSource(await fetchWhole(url, signal));
}

function blobSource(blob: Blob): ByteSource {
  return {
    size: blob.size,
    async read(offset, length) {
      try {
        return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
      } catch (cause) {
        const hint = "choose the file again if it has changed on disk";
        throw new GgufError("io", { expected: `${length} bytes of the blob`, got: reasonOf(cause), offset, hint, cause });
      }
    },
  };
}

async function fetchWhole(url: URL, signal: AbortSignal | undefined): Promise<Blob> {
  const response = await fetch(url, { signal: signal ?? null }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    const got = withoutSecrets(reasonOf(cause), url);
    throw new GgufError("io", { expected: "a URL that can be read", got, summary: `cannot open '${shownUrl(url)}': ${got}` });
  });
  return response.blob();
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function checked(source: ByteSource): ByteSource {
  const { size } = source;
  const stream = source.stream?.bind(source);
  const readInto = source.readInto?.bind(source);
  let isClosed = false;
  const requireReadable = (call: string, offset: number, length: number, signal: AbortSignal | undefined): void => {
    if (isClosed) throw new DisposedError("file", "close()");
    check(call, "offset", offset, number);
    check(call, "length", length, number);
    if (signal !== undefined) check(call, "signal", signal, abortSignal);
    signal?.throwIfAborted();
    requireWithin(size, offset, length);
  };
  return {
    size,
    async read(offset, length, signal) {
      requireReadable("read", offset, length, signal);
      const bytes = check("open", "the result of the source's read()", await source.read(offset, length, signal), byteArray);
      signal?.throwIfAborted();
      requireAll(offset, length, bytes.length);
      return bytes;
    },
    ...(readInto && {
      async readInto(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void> {
        requireReadable("readInto", offset, check("readInto", "target", target, byteArray).length, signal);
        await readInto(target, offset, signal);
        signal?.throwIfAborted();
      },
    }),
    ...(stream && { stream }),
    async close() {
      isClosed = true;
      await source.close?.();
    },
  };
}
