import { abortSignal, boolean, callback, type Kinds, oneOf, whole } from "@centella/quant/checks";
import type { Pooling } from "./pooling.ts";

/** Options of `model.embed`. */
export interface EmbedOptions {
  /** Default: the file's pooling type, or "mean". */
  readonly pooling?: Pooling | undefined;
  /** Scale the vectors to length 1. Default true. */
  readonly normalize?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `model.perplexity`. */
export interface PerplexityOptions {
  /** Tokens of a chunk, at least 4; a shorter chunk at the end is left out. Default 512, but at most the model's context. */
  readonly contextLength?: number | undefined;
  /** Maximum number of chunks to measure. Default: all. */
  readonly chunks?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk. */
  readonly onProgress?: ((progress: PerplexityProgress) => void) | undefined;
}

/** Result of the chunks so far. */
export interface PerplexityProgress {
  readonly done: number;
  readonly total: number;
  readonly perplexity: number;
}

/** Kinds of the options of a model's calls, here and in a worker. */
export const signalKinds: Kinds<{ readonly signal?: AbortSignal | undefined }> = { signal: abortSignal };
export const embedKinds: Kinds<EmbedOptions> = { pooling: oneOf("mean", "cls", "last"), normalize: boolean, signal: abortSignal };
export const perplexityKinds: Kinds<PerplexityOptions> = {
  contextLength: whole(4),
  chunks: whole(1),
  signal: abortSignal,
  onProgress: callback,
};
