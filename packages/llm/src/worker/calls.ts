import type { CacheUsage } from "../cache/cacheUsage.ts";
import type { RestoreOptions, SaveOptions } from "../cache/saveOptions.ts";
import type { ChatMessage } from "../chat/chatTemplate.ts";
import type { GenerateOptions } from "../generate/generateOptions.ts";
import type { GenerationPart } from "../generate/generationParts.ts";
import type { Prompt } from "../generate/promptInput.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";
import type { AdapterOptions } from "../load/adapters.ts";
import type { DraftOptions, LoadModelOptions } from "../load/loadOptions.ts";
import type { EmbedInput } from "../model/embed.ts";
import type { CallOptions, EmbedOptions, PerplexityOptions, Ranking, RerankOptions } from "../model/measureOptions.ts";
import type { ModelInfo } from "../model/modelInfo.ts";
import type { Perplexity } from "../model/perplexity.ts";
import type { DecodeOptions, EncodeOptions } from "../tokenizer/tokenizer.ts";
import type { ToolFormat } from "../tools/formats/toolFormat.ts";
import type { PackedSource } from "./packedSource.ts";

/** Options that can be cloned: without signals and callbacks, which the channel transmits. */
type Cloneable<O> = Omit<O, "signal" | "onProgress">;

/** Options of loading a model, as they are sent to the worker. */
export interface PackedLoadOptions extends Cloneable<Omit<LoadModelOptions, "runtime" | "adapters" | "draft">> {
  readonly adapters?: readonly (Omit<AdapterOptions, "source"> & { readonly source: PackedSource })[] | undefined;
  readonly draft?: (Omit<DraftOptions, "source" | "runtime"> & { readonly source?: PackedSources | undefined }) | undefined;
}

/** A source, or the parts of a split model. */
export type PackedSources = PackedSource | readonly PackedSource[];

/** A part of a generation. The last part also has the session's messages after the turn. */
export interface StreamedPart {
  readonly part: GenerationPart;
  readonly messages: readonly ChatMessage[] | undefined;
}

/** Calls to the worker that holds a model. The caller numbers the sessions. */
export interface ModelCalls {
  /** Reports the arguments of `onProgress`. */
  load(source: PackedSources, options: PackedLoadOptions): ModelInfo;
  encode(text: string, options: EncodeOptions): Int32Array;
  decode(ids: ArrayLike<number>, options: DecodeOptions): string;
  logits(ids: ArrayLike<number>, options: Cloneable<CallOptions>): Float32Array;
  embed(texts: readonly EmbedInput[], options: Cloneable<EmbedOptions>): Float32Array[];
  rerank(query: string, documents: readonly string[], options: Cloneable<RerankOptions>): Ranking;
  /** Reports a `PerplexityProgress`. */
  perplexity(text: string | ArrayLike<number>, options: Cloneable<PerplexityOptions>): Perplexity;
  toolFormat(): ToolFormat;
  cacheUsage(): CacheUsage;
  createSession(session: number, options: SessionOptions): void;
  /** Returns the session's messages. */
  restoreSession(session: number, bytes: Uint8Array, options: Cloneable<RestoreOptions>): readonly ChatMessage[];
  forkSession(session: number, from: number): void;
  resetSession(session: number, messages: readonly ChatMessage[]): void;
  generate(session: number, prompt: Prompt, options: Cloneable<GenerateOptions>): AsyncIterable<StreamedPart>;
  saveSession(session: number, options: Cloneable<SaveOptions>): Uint8Array;
  /** Frees the session's part of the cache. */
  freeSession(session: number): void;
  /** Forgets a session whose handle was garbage-collected. What it computed stays in the cache, as without a worker. */
  dropSession(session: number): void;
  dispose(): void;
}
