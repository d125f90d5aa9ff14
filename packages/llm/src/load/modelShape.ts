/** Properties of a model that its cache, sessions and scheduler depend on, for all architectures. */
export interface ModelShape {
  readonly vocabSize: number;
  /** Elements of a token's hidden state. */
  readonly embeddingLength: number;
  /** Context length that the model was trained with, in tokens. */
  readonly contextLength: number;
  readonly layers: number;
  readonly headsOf: (layer: number) => HeadSizes;
  /** Whether tokens attend to later ones. An encoder embeds texts, each in a single run, and has no logits. */
  readonly isEncoder: boolean;
  /** How the model fills in the masked tokens of a text, if it does. Its tokens attend to later ones, too. */
  readonly diffusion?: DiffusionShape | undefined;
  /** The token that a decoder begins its texts with, if the model has one besides an encoder, which reads the prompts. */
  readonly decoderStart?: number | undefined;
  /** Whether a layer keeps keys and values. */
  readonly hasCache: (layer: number) => boolean;
  /** What layers keep of each token besides keys and values, if they do. */
  readonly extraCache?: ExtraCacheShape;
  /** How rows of a table are found by n-grams of tokens, if the model has one. */
  readonly ngrams?: NgramShape | undefined;
  /** Recurrent states of the layers without keys and values, by the names of the tensors, f32. Empty: the model is not recurrent. */
  readonly states: readonly StateShape[];
}

/** A model that generates by filling in masked tokens, in any order (Nie et al., 2025). */
export interface DiffusionShape {
  /** The token that stands for one that is not known yet; undefined if the file names none. */
  readonly maskId: number | undefined;
  /** Whether a token's logits are those of the row before it, as in models that were trained to predict the next token first. */
  readonly shiftsLogits: boolean;
}

/** Whether tokens attend to later ones, so that a text must be computed in a single run. */
export function attendsAhead({ isEncoder, diffusion }: Pick<ModelShape, "isEncoder" | "diffusion">): boolean {
  return isEncoder || diffusion !== undefined;
}

/** Heads of a layer's attention. */
export interface HeadSizes {
  /** Heads of queries. */
  readonly heads: number;
  /** Heads of keys and values, which divide the number of heads. */
  readonly kvHeads: number;
  /** Elements of a key per head. */
  readonly keyLength: number;
  /** Elements of a value per head. */
  readonly valueLength: number;
}

/** What layers keep of each token besides keys and values, such as the keys by which indexers of sparse attention find it. */
export interface ExtraCacheShape {
  /** Contexts of no more tokens do without it. */
  readonly unusedUpTo: number;
  /** Elements of a token. */
  readonly elementsOf: (layer: number) => number;
}

/** How rows of a table are found by the n-grams that end with a token, by several hashes of each. */
export interface NgramShape {
  /** Tokens of the longest n-gram. The shortest has two. */
  readonly size: number;
  /** Hashes of each n-gram. */
  readonly perSize: number;
  /** Factors of a token, of the one before it, and so on. */
  readonly multipliers: readonly bigint[];
  /** First row and number of rows of each hash, those of the shortest n-gram first. */
  readonly offsets: readonly number[];
  readonly counts: readonly number[];
  /** The token that ends a text. It stands for all tokens up to the last one before. */
  readonly endId: number;
}

/** A recurrent state: a tensor of each sequence that a layer carries from token to token. */
export interface StateShape {
  readonly name: string;
  readonly layer: number;
  readonly shape: readonly number[];
}
