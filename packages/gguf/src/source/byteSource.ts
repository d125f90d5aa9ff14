/** Bytes of known size that can be read repeatedly, in any order. */
export interface ByteSource {
  readonly size: number;
  /** Resolves to exactly `length` bytes, which may be shared with the source: do not write to them. */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  /**
   * Fills `target`, which may be memory that threads share, with the bytes from `offset`. For sources whose `read` would copy. Nothing is
   * written to `target` once the promise has settled.
   */
  readInto?(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void>;
  /** For sources where each read costs a round trip: streams the bytes from `offset` until the end or until the reader stops. */
  stream?(offset: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  close?(): Promise<void>;
}

/**
 * Input that a GGUF file is read from: a string or URL (see `placeOf`), a Blob or File, bytes in memory, or a custom source.
 *
 * A string is a URL if it begins with `https:`, `http:`, `file:`, `blob:` or `data:`, and a model on a hub if it begins with `hf:` or `ollama:`.
 * Any other string is a path in Node, and a URL relative to the page in browsers.
 */
export type GgufInput = string | URL | Blob | ArrayBuffer | Uint8Array | ByteSource;
