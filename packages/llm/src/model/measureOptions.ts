import { abortSignal, boolean, callback, type Kinds, object, oneOf, whole } from "@centella/quant/checks";
import type { AdapterScales } from "../load/adapterScales.ts";
import type { Pooling } from "./pooling.ts";

/** Options of all calls of a model. */
export interface CallOptions {
  /** Scales of the named adapters that the call applies, by name; see `loadModel`. Default: none. */
  readonly adapters?: AdapterScales | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `model.embed`. */
export interface EmbedOptions extends CallOptions {
  /** Default: the file's pooling type, or "mean". */
  readonly pooling?: Pooling | undefined;
  /** Scale the vectors to length 1. Default true. */
  readonly normalize?: boolean | undefined;
  /**
   * Keep this many of the first elements of each vector, and scale what is kept to length 1. For models whose training made the first
   * elements most important (Matryoshka representations). Default: all.
   */
  readonly dimensions?: number | undefined;
}

/** Options of `model.rerank`. */
export interface RerankOptions extends CallOptions {
  /** Maximum number of results. Default: all documents. */
  readonly topN?: number | undefined;
}

/** A document of `model.rerank`. */
export interface RankedDocument {
  /** Its place in the list of documents. */
  readonly index: number;
  /** How well it answers the query: higher is better. The scale is the model's. */
  readonly score: number;
}

/** Result of `model.rerank`. */
export interface Ranking {
  /** By descending score. */
  readonly results: readonly RankedDocument[];
  /** Tokens of all pairs of the query and a document. */
  readonly usage: { readonly promptTokens: number };
}

/** Options of `model.perplexity`. */
export interface PerplexityOptions extends CallOptions {
  /** Tokens of a chunk, at least 4; a shorter chunk at the end is left out. Default 512, but at most the model's context. */
  readonly contextLength?: number | undefined;
  /** Maximum number of chunks to measure. Default: all. */
  readonly chunks?: number | undefined;
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
export const callKinds: Kinds<CallOptions> = { adapters: object, signal: abortSignal };
export const embedKinds: Kinds<EmbedOptions> = {
  pooling: oneOf("mean", "cls", "last"),
  normalize: boolean,
  dimensions: whole(1),
  ...callKinds,
};
export const rerankKinds: Kinds<RerankOptions> = { topN: whole(1), ...callKinds };
export const perplexityKinds: Kinds<PerplexityOptions> = {
  contextLength: whole(4),
  chunks: whole(1),
  ...callKinds,
  onProgress: callback,
};
