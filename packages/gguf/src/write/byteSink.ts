/** Receives bytes in order. A `WritableStreamDefaultWriter` is a byte sink. */
export interface ByteSink {
  /** Resolves when the sink accepts more bytes. Until then, `bytes` belongs to the sink. */
  write(bytes: Uint8Array): Promise<void>;
}
