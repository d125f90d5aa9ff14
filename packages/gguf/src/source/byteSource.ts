/** Bytes of known size that can be read again and again, in any order. */
export interface ByteSource {
  readonly size: number;
  /** Resolves to exactly `length` bytes, which may be shared with the source: do not write to them. */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** For sources where each read costs a round trip: bytes from `offset` on, until the end or until the reader stops. */
  stream?(offset: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  close?(): Promise<void>;
}

/**
 * What a GGUF file can be read from: a string or URL (see `placeOf`), a Blob or File, bytes in memory, or a source of your own.
 *
 * A string is a URL if it begins with `https:`, `http:`, `file:`, `blob:` or `data:`, and a model on a hub if it begins with `hf:`.
 * Any other string is a path in Node, and a URL relative to the page in browsers.
 */
export type GgufInput = string | URL | Blob | ArrayBuffer | Uint8Array | ByteSource;
