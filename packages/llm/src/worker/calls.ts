import type { AdapterOptions } from "../adapters.ts";
import type { ChatMessage } from "../chatTemplate.ts";
import type { EmbedInput, EmbedOptions } from "../embed.ts";
import type { GenerateOptions } from "../generateOptions.ts";
import type { GenerationPart } from "../generationParts.ts";
import type { LoadModelOptions } from "../loadModel.ts";
import type { ModelInfo } from "../modelInfo.ts";
import type { Perplexity, PerplexityOptions } from "../perplexity.ts";
import type { Prompt } from "../prompt.ts";
import type { RestoreOptions, SaveOptions } from "../savedSession.ts";
import type { SessionOptions } from "../session.ts";
import type { DecodeOptions, EncodeOptions } from "../tokenizer/tokenizer.ts";
import type { PackedSource } from "./packedSource.ts";

/** Options without what cannot be cloned: signals and callbacks are the channel's. */
type Plain<O> = Omit<O, "signal" | "onProgress">;

/** How a model is loaded in a worker, as it gets there. */
export interface PackedLoadOptions extends Plain<Omit<LoadModelOptions, "runtime" | "adapters">> {
  readonly adapters?: readonly (Omit<AdapterOptions, "source"> & { readonly source: PackedSource })[] | undefined;
}

/** A part of a text, and with the last one the messages that the session then has. */
export interface ToldPart {
  readonly part: GenerationPart;
  readonly messages: readonly ChatMessage[] | undefined;
}

/** What a page asks of the worker that has its model. Sessions have the numbers that the page gives them. */
export interface ModelCalls {
  /** Reports the bytes of weights done, and in all. */
  load(source: PackedSource | readonly PackedSource[], options: PackedLoadOptions): ModelInfo;
  encode(text: string, options: EncodeOptions): Int32Array;
  decode(ids: ArrayLike<number>, options: DecodeOptions): string;
  logits(ids: ArrayLike<number>): Float32Array;
  embed(texts: readonly EmbedInput[], options: Plain<EmbedOptions>): Float32Array[];
  /** Reports a `PerplexityProgress`. */
  perplexity(text: string | ArrayLike<number>, options: Plain<PerplexityOptions>): Perplexity;
  createSession(session: number, options: SessionOptions): void;
  /** Gives its messages. */
  restoreSession(session: number, bytes: Uint8Array, options: Plain<RestoreOptions>): readonly ChatMessage[];
  forkSession(session: number, from: number): void;
  resetSession(session: number, messages: readonly ChatMessage[]): void;
  generate(session: number, prompt: Prompt, options: Plain<GenerateOptions>): AsyncIterable<ToldPart>;
  saveSession(session: number, options: Plain<SaveOptions>): Uint8Array;
  /** Gives its part of the cache back. */
  freeSession(session: number): void;
  /** Forgets it: nobody has a handle of it any more. */
  dropSession(session: number): void;
  dispose(): void;
}
