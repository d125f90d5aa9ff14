import type { Runtime } from "@centella/core";
import type { GgufInput, LocateOptions } from "@centella/gguf";
import { abortSignal, boolean, callback, either, isRecord, type Kinds, kind, list, object, oneOf, whole } from "@centella/quant/checks";
import type { ActivationMode, CacheType } from "../model/modelBuilder.ts";
import type { QueueOptions } from "../scheduler/queueOptions.ts";
import type { AdapterOptions } from "./adapters.ts";
import type { LayersOnGpu } from "./layersOnGpu.ts";

/** What drafts tokens for the model to verify: a smaller model with the same vocabulary, a head for this model, or a block of the model's own file. */
export interface DraftOptions {
  /** The file of the smaller model or head (EAGLE-3, Gemma 4 assistant, DFlash), as for `loadModel`. Default: none; the first block after the model's layers predicts further tokens (MTP, NextN). */
  readonly source?: GgufInput | readonly GgufInput[] | undefined;
  /** Maximum number of tokens to draft at a time. Drafts are shorter after rejected tokens. Default 3. */
  readonly tokens?: number | undefined;
  /**
   * End a draft before a token that the draft model finds less likely than this, from 0 to 1. Saves runs that verify drafts in vain, but the
   * host then reads the draft model's logits. Default 0.
   */
  readonly minProbability?: number | undefined;
  /** The runtime that computes the draft model. Default: the model's. Only for a smaller model. */
  readonly runtime?: Runtime | undefined;
}

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /** The runtime that computes: `await createRuntime({ backends: [wasm()] })`. */
  readonly runtime: Runtime;
  /**
   * Maximum number of tokens in a sequence. Memory is reserved for all of them. "auto" chooses the longest context that fits into memory;
   * `info.contextReason` explains the choice. Default: as trained, but at most 4096.
   */
  readonly contextLength?: number | "auto" | undefined;
  /** Maximum bytes of weights and cache together, for the context "auto". Default: most of the memory that the platform reports as free. */
  readonly memoryLimit?: number | undefined;
  /** Number of sequences in the cache, and so of generations that can run at the same time. Default 1. */
  readonly sequences?: number | undefined;
  /**
   * Maximum number of tokens of a prompt that one run computes. Default: 2048 if the whole model is on a GPU (4096 on large NVIDIA GPUs), else 512;
   * at most the context.
   */
  readonly batchSize?: number | undefined;
  /**
   * Maximum number of runs that are queued on the backend while sequences only generate tokens that the device chooses. Each takes the tokens
   * that the run before it chooses, so that the device does not wait for the host. Results are the same. Runs after the end of a text are
   * dropped. Recurrent models and layers on two backends always have 1. Default: what the backend prefers, which is 1 on CPUs.
   */
  readonly runsInFlight?: number | undefined;
  /** Element type of the key-value cache. Default "f16". */
  readonly cacheType?: CacheType | undefined;
  /**
   * Arithmetic of products with weights that are not f32.
   * - "ggml" rounds activations as llama.cpp's CPU code does: to 8 bits for block types, to f16 for f16 weights, to bf16 for bf16 weights.
   * - "half" lets the backend round both operands to f16, or to bf16 for bf16 weights, in products and in attention. Sums are f32.
   * - "f32" is exact on the dequantised weights.
   *
   * Default: what the selected backend prefers for the type of most weights, if it supports that mode for all of them, else "f32". GPUs
   * prefer "half"; CPUs prefer "ggml" for block types and "f32" for other types. Layers on two backends follow the CPU. GELU is rounded to f16, as in llama.cpp's CPU code, unless
   * the mode is "half" or "f32" is asked for.
   */
  readonly activations?: ActivationMode | undefined;
  /**
   * How many of the last layers to keep on the GPU, for models that are larger than its memory. The remaining layers are computed on the CPU.
   * One more than the model has moves the output matrix to the GPU, too. "auto" keeps as many on the GPU that the runtime selects as fit
   * into its free memory with their cache; `info.backendReason` explains the choice. If the GPU does not report its memory, or the runtime
   * selects a CPU, all layers are there. Default: "auto".
   */
  readonly layersOnGpu?: LayersOnGpu | undefined;
  /**
   * LoRA adapters, applied at run time: the model's weights stay unchanged. Those with a name are applied by the sessions and calls that choose
   * them, such as `createSession({ adapters: { sea: 1 } })`, and all others always.
   */
  readonly adapters?: readonly AdapterOptions[] | undefined;
  /**
   * A model that drafts tokens, which this model verifies several at a time. Texts are the same as without, but for the rounding of a backend
   * that computes several tokens at once in another order. It has the same number of sequences, a cache of the same type, and the same
   * context, or as much of it as it was trained on. The context "auto" leaves room for it.
   */
  readonly draft?: DraftOptions | undefined;
  /** Queue of the requests that exceed `sequences`. */
  readonly queue?: QueueOptions | undefined;
  /**
   * Whether a model that is named by a URL or an `hf:` reference is downloaded into a storage and found there the next time, also offline.
   * - true: the default storage, which is a folder on disk in Node and the origin private file system in pages. One small request compares
   *   a stored model with the server's.
   * - A storage of your own.
   * - false: the weights are read from the server by ranges and not stored.
   *
   * Default: true, but false for URLs in Node.
   */
  readonly cache?: LocateOptions["cache"];
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes done and the total: first for files that are downloaded into a storage, if any, then for the weights. */
  readonly onProgress?: ((done: number, total: number, stage: LoadStage) => void) | undefined;
}

/** Stage that `onProgress` reports: downloading files into a storage, or loading weights into the backend. */
export type LoadStage = "download" | "load";

/** Kinds of the options of `loadModel`, here and in a worker. */
export const loadKinds: Kinds<LoadModelOptions> = {
  runtime: kind("a runtime", (value) => isRecord(value) && typeof value.compile === "function"),
  contextLength: either(whole(1), oneOf("auto")),
  memoryLimit: whole(1),
  sequences: whole(1),
  batchSize: whole(1),
  runsInFlight: whole(1),
  cacheType: oneOf("f32", "f16", "q8_0"),
  activations: oneOf("ggml", "half", "f32"),
  layersOnGpu: either(either(whole(0), oneOf("auto")), object),
  adapters: list,
  draft: object,
  cache: either(boolean, object),
  queue: object,
  signal: abortSignal,
  onProgress: callback,
};
