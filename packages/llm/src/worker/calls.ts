import type { RestoreOptions, SaveOptions } from "../cache/saveOptions.ts";
import type { ChatMessage } from "../chat/chatTemplate.ts";
import type { GenerateOptions } from "../generate/generateOptions.ts";
import type { GenerationPart } from "../generate/generationParts.ts";
import type { Prompt } from "../generate/prompt.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";
import type { AdapterOptions } from "../load/adapters.ts";
import type { LoadModelOptions } from "../load/loadOptions.ts";
import type { EmbedInput } from "../model/embed.ts";
import type { EmbedOptions, PerplexityOptions } from "../model/measureOptions.ts";
import type { ModelInfo } from "../model/modelInfo.ts";
import type { Perplexity } from "../model/perplexity.ts";
import type { DecodeOptions, EncodeOptions } from "../tokenizer/tokenizer.ts";
import type { PackedSource } from "./packedSource.ts";

/** Options without what cannot be cloned: signals and callbacks are the channel's. */
type Cloneable<O> = Omit<O, "signal" | "onProgress">;

/** How a model is loaded in a worker, as it gets there. */
export interface PackedLoadOptions extends Cloneable<Omit<LoadModelOptions, "runtime" | "adapters">> {
  readonly adapters?: readonly (Omit<AdapterOptions, "source"> & { readonly source: PackedSource })[] | undefined;
}

/** A part of a text, and with the last one the messages that the session then has. */
export interface StreamedPart {
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
  embed(texts: readonly EmbedInput[], options: Cloneable<EmbedOptions>): Float32Array[];
  /** Reports a `PerplexityProgress`. */
  perplexity(text: string | ArrayLike<number>, options: Cloneable<PerplexityOptions>): Perplexity;
  createSession(session: number, options: SessionOptions): void;
  /** Gives its messages. */
  restoreSession(session: number, bytes: Uint8Array, options: Cloneable<RestoreOptions>): readonly ChatMessage[];
  forkSession(session: number, from: number): void;
  resetSession(session: number, messages: readonly ChatMessage[]): void;
  generate(session: number, prompt: Prompt, options: Cloneable<GenerateOptions>): AsyncIterable<StreamedPart>;
  saveSession(session: number, options: Cloneable<SaveOptions>): Uint8Array;
  /** Gives its part of the cache back. */
  freeSession(session: number): void;
  /** Forgets it: nobody has a handle of it any more. */
  dropSession(session: number): void;
  dispose(): void;
}
