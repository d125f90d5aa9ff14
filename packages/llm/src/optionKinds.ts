import {
  abortSignal,
  anything,
  boolean,
  callback,
  either,
  isRecord,
  type Kinds,
  kind,
  list,
  listOf,
  object,
  oneOf,
  plainData,
  whole,
} from "@centella/quant/checks";
import type { SaveOptions } from "./cache/savedSession.ts";
import type { ChatOptions } from "./chat/chatTemplate.ts";
import type { SessionOptions } from "./generate/session.ts";
import type { LoadModelOptions } from "./load/loadModel.ts";
import type { EmbedOptions } from "./model/embed.ts";
import type { PerplexityOptions } from "./model/perplexity.ts";

/** How a model is loaded. */
export const loadKinds: Kinds<LoadModelOptions> = {
  runtime: kind("a runtime", (value) => isRecord(value) && typeof value.compile === "function"),
  contextLength: either(whole(1), oneOf("auto")),
  memoryLimit: whole(1),
  sequences: whole(1),
  batchSize: whole(1),
  cacheType: oneOf("f32", "f16", "q8_0"),
  activations: oneOf("ggml", "f32"),
  layersOnGpu: either(whole(0), object),
  adapters: list,
  cache: either(boolean, object),
  queue: object,
  signal: abortSignal,
  onProgress: callback,
};

/** Kinds of the options of a model's calls, here and in a worker. */
export const signalKinds: Kinds<{ readonly signal?: AbortSignal | undefined }> = { signal: abortSignal };
export const embedKinds: Kinds<EmbedOptions> = { pooling: oneOf("mean", "cls", "last"), normalize: boolean, signal: abortSignal };
export const perplexityKinds: Kinds<PerplexityOptions> = {
  contextLength: whole(4),
  chunks: whole(1),
  signal: abortSignal,
  onProgress: callback,
};

/** Options of a session; `checkMessages` checks the messages. */
export const sessionKinds: Kinds<SessionOptions> = { messages: anything };
/** Options of saving and restoring; the key's form is checked where it is used. */
export const savingKinds: Kinds<SaveOptions> = { key: anything, signal: abortSignal };

/** What a template is given besides the messages. */
export const chatKinds: Kinds<ChatOptions> = {
  tools: listOf("plain data", plainData),
  documents: listOf("plain data", plainData),
  variables: kind("an object of plain data", (value) => isRecord(value) && plainData.accepts(value)),
  now: kind("a valid Date", (value) => value instanceof Date && Number.isFinite(value.getTime())),
};
