/** The part of a tokenizer that knows how words become tokens; special tokens are taken out before. */
export interface TextModel {
  /** Appends the ids of ordinary text. `atBoundary`: it starts the sequence or follows a special token. */
  encodeText(text: string, atBoundary: boolean, out: number[]): void;
  /** The bytes that a normal token of this spelling stands for. */
  pieceBytes(text: string): Uint8Array;
}
