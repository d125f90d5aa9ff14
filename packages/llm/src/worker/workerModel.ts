import { type GgufInput, placeOf } from "@centella/gguf";
import { boolean, checkOptions, checkValue, isRecord, type Kinds, kind } from "@centella/quant/checks";
import type { CacheUsage } from "../cache/cacheUsage.ts";
import type { RestoreOptions } from "../cache/saveOptions.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";
import type { DraftOptions, LoadModelOptions } from "../load/loadOptions.ts";
import { loadKinds } from "../load/loadOptions.ts";
import type { EmbedInput } from "../model/embed.ts";
import type { CallOptions, EmbedOptions, PerplexityOptions, Ranking, RerankOptions } from "../model/measureOptions.ts";
import { callKinds, embedKinds, perplexityKinds, rerankKinds } from "../model/measureOptions.ts";
import type { Model } from "../model/model.ts";
import type { ModelInfo } from "../model/modelInfo.ts";
import type { Perplexity } from "../model/perplexity.ts";
import { maxWaitingOf } from "../scheduler/queueOptions.ts";
import type { DecodeOptions, EncodeOptions } from "../tokenizer/tokenizer.ts";
import type { ToolFormat } from "../tools/formats/toolFormat.ts";
import type { ModelCalls, PackedSources } from "./calls.ts";
import { Caller } from "./channel.ts";
import { connect, type ModelWorker } from "./endpoint.ts";
import { type PackedSource, packSource } from "./packedSource.ts";
import { type WorkerModelState, WorkerSession } from "./workerSession.ts";

/** Options of loading a model in a worker: those of `loadModel`, except for the runtime, which is the worker's. */
export interface WorkerLoadOptions extends Omit<LoadModelOptions, "runtime" | "cache" | "draft"> {
  /** A worker whose script calls `serveModels`. It can hold several models. */
  readonly worker: ModelWorker;
  /** As in `loadModel`, but with the default storage only. */
  readonly cache?: boolean | undefined;
  /** As in `loadModel`, on the worker's runtime. */
  readonly draft?: Omit<DraftOptions, "runtime"> | undefined;
}

/** The tokenizer of a model in a worker. */
export interface WorkerTokenizer {
  /** @throws {TokenizerError} */
  encode(text: string, options?: EncodeOptions): Promise<Int32Array>;
  /** @throws {TokenizerError} */
  decode(ids: ArrayLike<number>, options?: DecodeOptions): Promise<string>;
}

/** A `Model` in a worker, with the same calls and errors. The file's metadata and chat template stay in the worker. */
export class WorkerModel
  implements Pick<Model, "info" | "toolFormat" | "cacheUsage" | "logits" | "embed" | "rerank" | "perplexity" | "dispose">, AsyncDisposable
{
  readonly info: ModelInfo;
  readonly tokenizer: WorkerTokenizer;
  readonly #state: WorkerModelState;
  #disposal: Promise<void> | undefined;

  /** Use `loadModel`. */
  constructor(info: ModelInfo, caller: Caller<ModelCalls>, maxWaiting: number) {
    this.info = info;
    this.#state = { caller, maxWaiting, adapters: info.adapters ?? [], lastSession: 0, isDisposed: false };
    this.tokenizer = {
      encode: (text, options = {}) => caller.call("encode", [text, options]),
      decode: (ids, options = {}) => caller.call("decode", [ids, options]),
    };
  }

  /** How the model writes calls of tools, and how that was found. */
  get toolFormat(): Promise<ToolFormat> {
    return this.#state.caller.call("toolFormat", []);
  }

  cacheUsage(): Promise<CacheUsage> {
    return this.#state.caller.call("cacheUsage", []);
  }

  /** Creates a conversation or a series of completions. Earlier computations are reused. */
  createSession(options: SessionOptions = {}): WorkerSession {
    return WorkerSession.create(this.#state, options);
  }

  /** @throws {SnapshotError | ArgumentError | BusyError | DisposedError | UnsupportedError}; the signal's reason */
  restoreSession(bytes: Uint8Array, options: RestoreOptions = {}): Promise<WorkerSession> {
    return WorkerSession.restore(this.#state, bytes, options);
  }

  async logits(ids: ArrayLike<number>, allOptions: CallOptions = {}): Promise<Float32Array> {
    const { signal, ...options } = checkOptions("logits", allOptions, callKinds);
    return this.#state.caller.call("logits", [ids, options], { signal });
  }

  async embed(texts: readonly EmbedInput[], allOptions: EmbedOptions = {}): Promise<Float32Array[]> {
    const { signal, ...options } = checkOptions("embed", allOptions, embedKinds);
    return this.#state.caller.call("embed", [texts, options], { signal });
  }

  async rerank(query: string, documents: readonly string[], allOptions: RerankOptions = {}): Promise<Ranking> {
    const { signal, ...options } = checkOptions("rerank", allOptions, rerankKinds);
    return this.#state.caller.call("rerank", [query, documents, options], { signal });
  }

  async perplexity(text: string | ArrayLike<number>, allOptions: PerplexityOptions = {}): Promise<Perplexity> {
    const { signal, onProgress, ...options } = checkOptions("perplexity", allOptions, perplexityKinds);
    return this.#state.caller.call("perplexity", [text, options], { signal, onReport: onProgress });
  }

  /** Frees weights and cache in the worker. The worker keeps running; dispose of its models before you terminate it. */
  async dispose(): Promise<void> {
    const { caller } = this.#state;
    this.#state.isDisposed = true;
    this.#disposal ??= caller.call("dispose", []).finally(() => caller.close("model"));
    await this.#disposal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

/**
 * Loads a model in a worker whose script calls `serveModels` of `@centella/llm/worker/serve`. Source and options are those of `loadModel` of
 * `@centella/llm`. Files and bytes are sent to the worker. A `ByteSource` of your own is read in this thread, piece by piece.
 * @throws the errors of `loadModel`, of the same classes; {DeviceLostError} if the worker ends or its script fails
 */
export async function loadModel(source: GgufInput | readonly GgufInput[], options: WorkerLoadOptions): Promise<WorkerModel> {
  checkValue("loadModel", options?.worker, workerKind, "pass new Worker(…) whose script calls serveModels");
  const { runtime: _, ...shared } = loadKinds;
  const kinds: Kinds<WorkerLoadOptions> = { ...shared, cache: boolean, worker: workerKind };
  const { worker, signal, onProgress, adapters, draft, ...rest } = checkOptions("loadModel", options, kinds);
  const maxWaiting = maxWaitingOf(options.queue);
  signal?.throwIfAborted();
  const transfer: (ArrayBuffer | MessagePort)[] = [];
  const pack = (input: GgufInput): PackedSource => packSource(input, transfer);
  const packAll = (sources: GgufInput | readonly GgufInput[]): PackedSources => (isList(sources) ? sources.map(pack) : pack(sources));
  const packed = packAll(source);
  const plain = {
    ...rest,
    ...(draft && { draft: { ...draft, source: draft.source === undefined ? undefined : packAll(draft.source) } }),
    ...(adapters && { adapters: adapters.map((adapter) => ({ ...adapter, source: pack(adapter.source) })) }),
  };
  // Only a page can ask the browser to keep the worker's files. Not awaited, because the answer changes nothing here.
  if (rest.cache !== false && isRemote(source)) void globalThis.navigator?.storage?.persist?.().catch(() => false);
  const { port, life } = await connect(worker, signal);
  const caller = new Caller<ModelCalls>(port, life);
  try {
    const info = await caller.call("load", [packed, plain], { signal, onReport: onProgress, transfer });
    return new WorkerModel(info, caller, maxWaiting);
  } catch (error) {
    caller.close("model");
    throw error;
  }
}

const workerKind = kind("a worker", (value) => isRecord(value) && typeof value.postMessage === "function");

/** Whether the worker downloads the source. */
function isRemote(source: GgufInput | readonly GgufInput[]): boolean {
  return (typeof source === "string" || source instanceof URL) && placeOf(source).kind !== "path";
}

function isList(source: GgufInput | readonly GgufInput[]): source is readonly GgufInput[] {
  return Array.isArray(source);
}
