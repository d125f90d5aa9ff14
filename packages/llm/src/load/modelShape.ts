/** What the cache, the sessions and the scheduler need to know of a model, whatever its architecture. */
export interface ModelShape {
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
  /** Whether tokens see those after them: the model embeds texts, each in one run, and has no logits. */
  readonly isEncoder: boolean;
  /** Whether a layer keeps keys and values. */
  readonly hasCache: (layer: number) => boolean;
  /** What layers without them keep of each sequence, by the names of the tensors, f32. None: the model is not recurrent. */
  readonly states: readonly StateShape[];
}

/** A tensor of each sequence that a recurrent layer carries from token to token. */
export interface StateShape {
  readonly name: string;
  readonly layer: number;
  readonly shape: readonly number[];
}
