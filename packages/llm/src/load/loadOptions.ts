import type { Runtime } from "@centella/core";
import type { LocateOptions } from "@centella/gguf";
import { abortSignal, boolean, callback, either, isRecord, type Kinds, kind, list, object, oneOf, whole } from "@centella/quant/checks";
import type { ActivationMode, CacheType } from "../model/modelBuilder.ts";
import type { QueueOptions } from "../scheduler/queueOptions.ts";
import type { AdapterOptions } from "./adapters.ts";
import type { LayersOnGpu } from "./layersOnGpu.ts";

/** How a model is loaded. */
export interface LoadModelOptions {
  /** Where it computes: `createRuntime({ backends: [wasm()] })`. */
  readonly runtime: Runtime;
  /**
   * Tokens that a sequence can hold: memory is taken for all of them. "auto" is the longest that the memory has room for, which
   * `info.contextReason` explains. Default: as trained, but at most 4096.
   */
  readonly contextLength?: number | "auto" | undefined;
  /** Bytes that weights and cache may take together, for the context "auto". Default: most of what the platform says is free. */
  readonly memoryLimit?: number | undefined;
  /** Sequences in the cache: generations that can be under way at once. Default 1. */
  readonly sequences?: number | undefined;
  /** Tokens of a prompt that are computed at once, at most. Default 512. */
  readonly batchSize?: number | undefined;
  /** Element type of the key-value cache. Default "f16". */
  readonly cacheType?: CacheType | undefined;
  /**
   * Multiplication with weights in block types: "ggml" rounds activations to 8 bits as llama.cpp's CPU code does (to f16 for weights in f16,
   * to bf16 for those in bf16), "f32" is exact on the dequantised weights. Default: "ggml" for files with block types where the selected
   * backend has it for all of them, else "f32". GELU is
   * rounded to f16, which is what that code makes of it, unless "f32" is asked for.
   */
  readonly activations?: ActivationMode | undefined;
  /**
   * Keep so many of the last layers on the GPU and the rest on the CPU: for models that are larger than its memory. One more than the
   * model has takes the output matrix there too. Default: all on the one backend that the runtime selects.
   */
  readonly layersOnGpu?: LayersOnGpu | undefined;
  /** LoRA adapters, all of which are added to the model's weights at run time. */
  readonly adapters?: readonly AdapterOptions[] | undefined;
  /** What happens to requests beyond `sequences`. */
  readonly queue?: QueueOptions | undefined;
  /**
   * Whether a model named by a URL or an `hf:` reference is downloaded into a storage, and found there the next time, also offline: true
   * for the default storage (a folder of the disk in Node, the origin private file system in pages), or a storage of your own. A stored
   * model is compared with the server's by one small request. Without it, the weights are read by ranges. Default: true, but false for
   * URLs in Node.
   */
  readonly cache?: LocateOptions["cache"];
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes done and the total: first for files that are downloaded and stored, if any, then for the weights. */
  readonly onProgress?: ((done: number, total: number, stage: LoadStage) => void) | undefined;
}

/** Stage that `onProgress` reports: files on their way to a storage, or weights on their way to the backend. */
export type LoadStage = "download" | "load";

/** Kinds of the options of `loadModel`, here and in a worker. */
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
