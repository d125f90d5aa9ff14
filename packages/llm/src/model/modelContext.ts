import { ArgumentError, CentellaError, DisposedError, UnsupportedError } from "@centella/core";
import type { Metadata } from "@centella/gguf";
import { printable } from "@centella/quant/checks";
import type { CacheCopier } from "../cache/cacheCopier.ts";
import type { CacheTransfer } from "../cache/cacheTransfer.ts";
import { blocksOf } from "../cache/prefixCache.ts";
import type { RecurrentStateTransfer } from "../cache/recurrentStateTransfer.ts";
import type { Sequence } from "../cache/sequence.ts";
import { SequencePool } from "../cache/sequencePool.ts";
import type { ChatTemplate } from "../chat/chatTemplate.ts";
import { ChatTemplateError, chatTemplateKey, noChatTemplate } from "../errors.ts";
import type { AdapterScales, AppliedAdapters } from "../load/adapterScales.ts";
import type { DiffusionShape } from "../load/modelShape.ts";
import type { SamplingOptions } from "../sampling/options.ts";
import type { RunSequence } from "../scheduler/request.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { CacheType } from "./modelBuilder.ts";
import type { ModelInfo } from "./modelInfo.ts";
import { filePooling, type Pooling } from "./pooling.ts";
import type { RankHead } from "./rankHead.ts";

/** What drafts tokens of a model's texts: a smaller model of the same vocabulary, or a block of the model itself. */
export interface DraftModel {
  readonly scheduler: Scheduler;
  /** Maximum number of tokens of a draft. */
  readonly tokens: number;
  /** Least probability of a drafted token. */
  readonly minProbability: number;
  /** Opens a text, whose newest token the model has not computed yet. Undefined: there can be no draft now. @throws the signal's reason */
  open(text: readonly number[], of: DraftedText): Promise<DraftSequence | undefined>;
  /** Frees what an owner's texts have cached. */
  free(owner: object): void;
  dispose(): Promise<void>;
}

/** The text of a {@link DraftModel}. */
export interface DraftedText {
  readonly owner: object;
  /** The text in the model, except for its newest token. */
  readonly target: Sequence;
  readonly signal: AbortSignal | undefined;
}

/** A text that is drafted. */
export interface DraftSequence {
  readonly sequence: RunSequence;
  /** Tokens to append to the sequence, with the newest one. */
  readonly ids: readonly number[];
  /** Set if these tokens' rows predict the whole draft: the first row that predicts a token. Default: the last row predicts one token. */
  readonly firstRow?: number | undefined;
  /** Ends the draft. */
  close(): void;
}

/** The parts of a model, which `loadModel` creates. */
export interface ModelParts {
  readonly scheduler: Scheduler;
  /** Moves the cache's content. */
  readonly openCacheTransfer: () => Promise<CacheTransfer>;
  /** Copies slots of the cache. Undefined if the model keeps no keys and values. */
  readonly slotCopier: CacheCopier | undefined;
  /** Moves the states of a recurrent model. */
  readonly stateTransfer: RecurrentStateTransfer | undefined;
  /** Compiles the program that ends before the output layer, over the same weights and cache. */
  readonly openEmbeddingScheduler: () => Promise<Scheduler>;
  /** Compiles the file's classification head. */
  readonly openRankHead: () => Promise<RankHead>;
  readonly info: ModelInfo;
  /** How the model fills in masked tokens, if it does. */
  readonly diffusion: DiffusionShape | undefined;
  /** The token that a decoder begins its texts with, if the model has one besides an encoder. */
  readonly decoderStart: number | undefined;
  /** The file's tokenizer, or the error if the file has no usable one. */
  readonly tokenizer: Tokenizer | CentellaError;
  /** Renders the file's template, if it has one. */
  readonly ChatTemplate: typeof ChatTemplate | undefined;
  readonly metadata: Metadata;
  /** The adapters that a caller chooses, of a model with adapters. @throws {ArgumentError} for names that are not theirs */
  readonly applyAdapters: ((where: string, adapters: AdapterScales) => AppliedAdapters | undefined) | undefined;
  /** Computes a digest that identifies the model with adapters of these names. */
  readonly identify: (adapters: readonly string[]) => Promise<string>;
  readonly close: () => Promise<void>;
  readonly draft: DraftModel | undefined;
  /** Maximum number of requests that wait for a sequence, and of turns that wait within a session. */
  readonly maxWaiting: number;
}

/** State that a model shares with its sessions. */
export class ModelContext {
  readonly scheduler: Scheduler;
  readonly pool: SequencePool;
  readonly hasChatTemplate: boolean;
  /** See {@link ModelParts}. */
  readonly maxWaiting: number;
  /** The model's own defaults. */
  readonly sampling: SamplingOptions;
  readonly cacheType: CacheType;
  /** See {@link ModelParts}. */
  readonly diffusion: DiffusionShape | undefined;
  /** See {@link ModelParts}. */
  readonly decoderStart: number | undefined;
  /** See {@link ModelParts}. */
  readonly stateTransfer: RecurrentStateTransfer | undefined;
  /** See {@link ModelParts}. */
  readonly draft: DraftModel | undefined;
  readonly #slotCopier: CacheCopier | undefined;
  readonly #metadata: Metadata;
  readonly #tokenizer: Tokenizer | CentellaError;
  readonly #ChatTemplate: typeof ChatTemplate | undefined;
  #chatTemplate: ChatTemplate | undefined;

  readonly #identify: ModelParts["identify"];
  readonly #applyAdapters: ModelParts["applyAdapters"];

  readonly #openTransfer: () => Promise<CacheTransfer>;
  #transfer: Promise<CacheTransfer> | undefined;

  readonly #openStates: () => Promise<Scheduler>;
  #states: Promise<Scheduler> | undefined;

  readonly #openHead: () => Promise<RankHead>;
  #head: Promise<RankHead> | undefined;

  readonly #close: () => Promise<void>;
  #isDisposed = false;

  constructor(
    {
      scheduler,
      openCacheTransfer,
      slotCopier,
      stateTransfer,
      openEmbeddingScheduler,
      diffusion,
      openRankHead,
      decoderStart,
      metadata,
      applyAdapters,
      identify,
      tokenizer,
      ChatTemplate,
      close,
      draft,
      maxWaiting,
    }: ModelParts,
    { sequences, hasChatTemplate, sampling, cacheType }: ModelInfo,
  ) {
    this.scheduler = scheduler;
    this.#openTransfer = openCacheTransfer;
    this.#slotCopier = slotCopier;
    this.stateTransfer = stateTransfer;
    this.cacheType = cacheType;
    this.diffusion = diffusion;
    this.decoderStart = decoderStart;
    this.draft = draft;
    this.#close = close;
    this.#identify = identify;
    this.#applyAdapters = applyAdapters;
    this.#openStates = openEmbeddingScheduler;
    this.#openHead = openRankHead;
    this.hasChatTemplate = hasChatTemplate;
    this.sampling = sampling;
    this.#metadata = metadata;
    this.#ChatTemplate = ChatTemplate;
    this.maxWaiting = maxWaiting;
    const sizes = { sequences, blocks: blocksOf(scheduler.contextLength), maxWaiting };
    this.pool = new SequencePool(sizes, { slots: slotCopier, states: stateTransfer }, () => scheduler.recoveries);
    this.#tokenizer = tokenizer;
  }

  /** @throws {DisposedError} */
  requireAlive(): void {
    if (this.#isDisposed) throw new DisposedError("model");
  }

  /**
   * Runs a call that `signal` may end.
   * @throws the errors of `work`; {DisposedError} if the model is disposed of before or during the call
   */
  async use<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.requireAlive();
    try {
      return await work();
    } catch (error) {
      throw this.failure(error, signal);
    }
  }

  /** The error that a failed call throws: a `DisposedError` if the model is being disposed of, unless the call was aborted. */
  failure(error: unknown, signal?: AbortSignal): unknown {
    const isAborted = signal?.aborted === true && error === signal.reason;
    if (!this.#isDisposed || isAborted || error instanceof DisposedError) return error;
    return Object.assign(new DisposedError("model"), { cause: error });
  }

  /** @throws {UnsupportedError} if the model embeds texts and has no logits */
  requireLogits(what: string): void {
    if (!this.scheduler.isEncoder) return;
    throw new UnsupportedError(what, "the model is an encoder, which has no logits; use model.embed()");
  }

  /** @throws {UnsupportedError} if the model has no logits of ids alone */
  requireOwnLogits(what: string): void {
    this.requireLogits(what);
    if (this.decoderStart === undefined) return;
    throw new UnsupportedError(what, "the model has an encoder and a decoder; use generate, with logprobs");
  }

  /** @throws {TokenizerError} if the file has no tokenizer that can be used */
  get tokenizer(): Tokenizer {
    if (this.#tokenizer instanceof CentellaError) throw this.#tokenizer;
    return this.#tokenizer;
  }

  /** Why there is no tokenizer. A model without one still computes logits of ids. */
  get tokenizerProblem(): string | undefined {
    return this.#tokenizer instanceof CentellaError ? this.#tokenizer.message : undefined;
  }

  /** Moves keys and values between the cache and the host, for sessions that are saved and restored. */
  get cacheTransfer(): Promise<CacheTransfer> {
    this.requireAlive();
    this.#transfer ??= this.#openTransfer();
    return this.#transfer;
  }

  /** Gives states in the place of logits, rows of the embedding's length. */
  get embeddingScheduler(): Promise<Scheduler> {
    this.requireAlive();
    this.#states ??= this.#openStates();
    return this.#states;
  }

  /** Scores texts by the file's classification head. @throws {UnsupportedError} if it has none */
  get rankHead(): Promise<RankHead> {
    this.requireAlive();
    this.#head ??= this.#openHead();
    return this.#head;
  }

  /** How the file says that a text's states become one vector, if it does. */
  get pooling(): Pooling | "rank" | undefined {
    return filePooling(this.#metadata);
  }

  /** The file's text around a query and a document, if it states one. */
  get rankTemplate(): string | undefined {
    return this.#metadata.optionalString(`${chatTemplateKey}.rerank`);
  }

  /** Frees what a session has cached, as {@link SequencePool.free} does. */
  free(owner: object): void {
    this.pool.free(owner);
    this.draft?.free(owner);
  }

  /** Refuses further calls, rejects waiting ones, and frees all plans, the draft model and the file. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    this.pool.dispose();
    this.scheduler.refuse();
    await this.#slotCopier?.dispose();
    await this.stateTransfer?.dispose();
    await (await this.#transfer?.catch(() => undefined))?.dispose();
    await (await this.#states?.catch(() => undefined))?.dispose();
    (await this.#head?.catch(() => undefined))?.dispose();
    await this.draft?.dispose();
    await this.scheduler.dispose();
    await this.#close();
  }

  /** Digest that identifies the model with the adapters that are applied; see `fingerprint`. */
  identity(adapters: AppliedAdapters | undefined): Promise<string> {
    return this.#identify(Object.keys(adapters?.byName ?? {}));
  }

  /** The adapters that a caller chooses. @throws {ArgumentError} for names that the model was not loaded with */
  applied(where: string, adapters: AdapterScales = {}): AppliedAdapters | undefined {
    if (this.#applyAdapters !== undefined) return this.#applyAdapters(where, adapters);
    const [name] = Object.keys(adapters);
    if (name === undefined) return undefined;
    throw new ArgumentError(where, "no adapters, because the model has none", printable(name), "load the model with it, under this name");
  }

  /** @throws {ChatTemplateError} if the file has none or it cannot be parsed */
  get chatTemplate(): ChatTemplate {
    if (this.#ChatTemplate === undefined) throw new ChatTemplateError(noChatTemplate(chatTemplateKey));
    this.#chatTemplate ??= this.#ChatTemplate.fromMetadata(this.#metadata);
    return this.#chatTemplate;
  }
}
