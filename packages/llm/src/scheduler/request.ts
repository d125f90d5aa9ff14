import type { Sequence } from "../cache/sequence.ts";

/** Which of the tokens that are fed give output rows: logits, or the hidden states that embeddings are made of. */
export type OutputRows = "none" | "last" | "all";

/**
 * The most likely token after each row (the lowest id of equals) and its logit. If any logit of a row is NaN, the first such id with NaN.
 */
export interface GreedyTokens {
  readonly ids: Int32Array;
  readonly logits: Float32Array;
}

/** Output of a request's rows: the rows themselves, `[rows, width]`, or only the most likely tokens, which are 8 bytes per row. */
export type RowOutput =
  | { readonly kind: "values"; readonly values: Float32Array }
  | { readonly kind: "greedy"; readonly greedy: GreedyTokens };

/** How tokens are fed. */
export interface FeedOptions {
  readonly rows: OutputRows;
  /**
   * The tokens are a draft: they are computed in a single run, and the sequence does not keep them until `Sequence.acceptDraft` does.
   */
  readonly isDraft?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called after each run with the number of tokens that are done. */
  readonly onProgress?: (done: number) => void;
}

/** Tokens to append to a sequence. */
export interface FeedRequest {
  readonly sequence: Sequence;
  readonly ids: readonly number[];
  readonly options: FeedOptions;
  readonly output: RowOutput;
}

/** A request in the scheduler's queue. */
export interface Request extends FeedRequest {
  readonly completion: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
  /** Tokens that are computed. */
  done: number;
  /** Consecutive runs that had no room for the request. */
  skipped: number;
}

/** Number of output rows of `ids`. */
export function countRows(ids: readonly number[], { rows }: FeedOptions): number {
  return { none: 0, last: 1, all: ids.length }[rows];
}
