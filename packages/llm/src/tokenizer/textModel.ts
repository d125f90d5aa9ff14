/** The part of a tokenizer that knows how words become tokens; special tokens are taken out before. */
export interface TextModel {
  /**
   * Appends the ids of ordinary text. Yields now and then, so that the encoding of a long text can be left or interrupted.
   * @param atBoundary whether the text starts the sequence or follows a special token
   */
  encodeText(text: string, atBoundary: boolean, out: number[]): Iterable<void>;
  /** The bytes that a normal token of this spelling stands for. */
  pieceBytes(text: string): Uint8Array;
}
