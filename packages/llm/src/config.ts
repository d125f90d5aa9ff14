/** What the cache, the sessions and the decoder need to know of a model, whatever its architecture. */
export interface DecoderConfig {
  readonly vocabSize: number;
  /** Elements of a token's state. */
  readonly embeddingLength: number;
  /** Tokens that the model was trained on at a time. */
  readonly contextLength: number;
  readonly layers: number;
  readonly kvHeads: number;
  /** Elements of a key per head. */
  readonly keyLength: number;
  /** Elements of a value per head. */
  readonly valueLength: number;
}
