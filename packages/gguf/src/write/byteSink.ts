/** Takes bytes one after the other; resolves when it can take more. A `WritableStreamDefaultWriter` is one. */
export interface ByteSink {
  /** The bytes are the sink's until the promise resolves. */
  write(bytes: Uint8Array): Promise<void>;
}
