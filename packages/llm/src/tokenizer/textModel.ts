/** The part of a tokenizer that encodes ordinary text, after special tokens were separated. */
export interface TextModel {
  /**
   * Appends the ids of ordinary text. Yields from time to time, so that the encoding of a long text can be stopped or interrupted.
   * @param atBoundary whether the text starts the sequence or follows a special token
   */
  encodeText(text: string, atBoundary: boolean, out: number[]): Iterable<void>;
  /** The bytes that a normal token of this spelling stands for. */
  pieceBytes(text: string): Uint8Array;
}
