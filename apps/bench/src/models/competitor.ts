import type { Side } from "../runner/subject.ts";

/** A loaded model of ours or of a peer. */
export interface ModelRunner {
  /** Seconds to compute a prompt of which nothing is cached. */
  prefill(ids: readonly number[]): Promise<number>;
  /** Seconds for `tokens` tokens one after another, greedily chosen, after a prompt that is cached. */
  decode(prompt: readonly number[], tokens: number): Promise<number>;
  /** Seconds for `tokens` tokens of each of several simultaneous texts with cached prompts; left out if there is only one text. */
  decodeTogether?(prompts: readonly (readonly number[])[], tokens: number): Promise<number>;
  /** Seconds from an abort in the middle of a prompt until the call is refused; left out where prompts cannot be aborted. */
  abort?(ids: readonly number[]): Promise<number>;
  /** How far its logits after `ids` are from those of the scalar reference: 1 - cosine; undefined if it cannot be measured. */
  distance?(ids: readonly number[]): Promise<number | undefined>;
  dispose(): Promise<void>;
}

/** Tokenizer of a file, ours or a peer's. */
export interface TokenizerRunner {
  /** Ids of a text, no special tokens added. */
  tokenize(text: string): ArrayLike<number>;
  dispose(): Promise<void>;
}

/** Runs models: one of our backends, or a peer. */
export interface ModelCompetitor {
  readonly name: string;
  readonly side: Side;
  readonly threads: number | undefined;
  /** Whether it computes in processes other than the one that opens it. */
  readonly isElsewhere?: boolean;
  /**
   * Loads a GGUF file with room for `contextLength` tokens.
   * @throws {Skip} if it cannot
   */
  open(file: string, contextLength: number): Promise<ModelRunner>;
  /** Loads a GGUF file's vocabulary; left out where texts are not tokenized apart from computing. */
  openTokenizer?(file: string): Promise<TokenizerRunner>;
}
