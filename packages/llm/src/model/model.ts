import type { Metadata } from "@centella/gguf";
import { checkOptions } from "@centella/quant/checks";
import type { CacheUsage } from "../cache/cacheUsage.ts";
import type { RestoreOptions } from "../cache/saveOptions.ts";
import type { ChatTemplate } from "../chat/chatTemplate.ts";
import { ContextOverflowError } from "../errors.ts";
import { Session } from "../generate/session.ts";
import type { SessionOptions } from "../generate/sessionOptions.ts";
import { checkIds } from "../tokenizer/tokenIds.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { ToolFormat } from "../tools/formats/toolFormat.ts";
import type { EmbedInput } from "./embed.ts";
import type { CallOptions, EmbedOptions, PerplexityOptions, Ranking, RerankOptions } from "./measureOptions.ts";
import { callKinds, embedKinds, perplexityKinds, rerankKinds } from "./measureOptions.ts";
import { ModelContext, type ModelParts } from "./modelContext.ts";
import type { ModelInfo } from "./modelInfo.ts";
import type { Perplexity } from "./perplexity.ts";

/** A loaded model: weights and cache on one backend. Dispose of it, or declare it with `await using`. */
export class Model implements AsyncDisposable {
  readonly info: ModelInfo;
  readonly #metadata: Metadata;
  readonly #context: ModelContext;
  #disposal: Promise<void> | undefined;

  /** Use `loadModel`. */
  constructor(parts: ModelParts) {
    const { info } = parts;
    this.#metadata = parts.metadata;
    this.#context = new ModelContext(parts, info);
    const problem = this.#context.tokenizerProblem;
    this.info = problem === undefined ? info : { ...info, warnings: [...info.warnings, problem] };
  }

  /** The file's metadata. */
  get metadata(): Metadata {
    return this.#metadata;
  }

  /** @throws {TokenizerError} if the file has no tokenizer that can be used */
  get tokenizer(): Tokenizer {
    return this.#context.tokenizer;
  }

  /** @throws {ChatTemplateError} if the file has none or it cannot be parsed */
  get chatTemplate(): ChatTemplate {
    return this.#context.chatTemplate;
  }

  /**
   * How the model writes calls of tools, and how that was found. The option `toolFormat` of `generate` overrides it.
   * @throws {ChatTemplateError} if the file has no template, or it cannot be parsed
   */
  get toolFormat(): Promise<ToolFormat> {
    return this.#toolFormat();
  }

  /** A conversation or a series of completions that reuses what it has computed. Cheap: the cache is the model's. */
  createSession(options: SessionOptions = {}): Session {
    this.#context.requireAlive();
    return new Session(this.#context, options);
  }

  /**
   * How much of the key-value cache is in use at this moment.
   * @throws {DisposedError}
   */
  async cacheUsage(): Promise<CacheUsage> {
    this.#context.requireAlive();
    return this.#context.pool.cacheUsage;
  }

  /**
   * Restores a saved session, on any backend. Without a key, the bytes may be untrusted: only this session and its forks use their cache
   * entries.
   * @throws {SnapshotError} if the bytes are damaged, come from another model or cache type, or were not saved with the given key
   * @throws {ArgumentError | BusyError | DisposedError | UnsupportedError}; the signal's reason
   */
  restoreSession(bytes: Uint8Array, options: RestoreOptions = {}): Promise<Session> {
    return this.#context.use(() => Session.restore(this.#context, bytes, options));
  }

  /**
   * Logits of every position of `ids` as one sequence: `[ids.length, vocabSize]`, row-major.
   * @throws {ContextOverflowError | ArgumentError | BusyError | DisposedError}
   */
  async logits(ids: ArrayLike<number>, options: CallOptions = {}): Promise<Float32Array> {
    const { signal } = checkOptions("logits", options, callKinds);
    return this.#context.use(async () => {
      this.#context.requireOwnLogits("logits");
      const { scheduler, pool } = this.#context;
      const tokens = checkIds(ids, scheduler.vocabSize);
      if (tokens.length > scheduler.contextLength)
        throw new ContextOverflowError(tokens.length, scheduler.contextLength, scheduler.contextLength);
      const adapters = this.#context.applied("logits", options.adapters);
      return pool.useOnce({ adapters, signal }, async (sequence) => {
        if (this.#context.diffusion === undefined) return scheduler.feed(sequence, tokens, { rows: "all", signal });
        const { allLogits } = await import("../generate/diffusionLoop.ts");
        return allLogits(scheduler, sequence, tokens, signal);
      });
    }, signal);
  }

  /**
   * Returns a vector `[embeddingLength]` or `[dimensions]` for each text: the pooled states of its tokens before the output layer. Short
   * texts share runs. Models that expect an instruction before a text, such as "query: ", get it from the caller: files do not state it.
   * @throws {UnsupportedError} if the file is a reranker, unless a pooling is named; {ContextOverflowError | ArgumentError | BusyError |
   *   DisposedError | TokenizerError}
   */
  async embed(texts: readonly EmbedInput[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    const { signal } = checkOptions("embed", options, embedKinds);
    return this.#context.use(async () => (await import("./embed.ts")).embed(this.#context, texts, options), signal);
  }

  /**
   * Scores documents by how well they answer a query, for files of rerankers: encoders with a classification head, and Qwen3-Reranker. Short
   * documents share runs.
   * @throws {UnsupportedError} if the file is no reranker; {ContextOverflowError} if a document with the query is longer than the context;
   *   {ArgumentError} without documents; {ModelError | BusyError | DisposedError | TokenizerError}
   * @example
   * const { results } = await model.rerank("Where do owls sleep?", ["Foxes hunt at night.", "Owls rest in trees by day."], { topN: 1 });
   * console.log(results[0].index, results[0].score);
   */
  async rerank(query: string, documents: readonly string[], options: RerankOptions = {}): Promise<Ranking> {
    const { signal } = checkOptions("rerank", options, rerankKinds);
    return this.#context.use(async () => (await import("./rerank.ts")).rerank(this.#context, query, documents, options), signal);
  }

  /**
   * Measures how well the model predicts a text, as llama.cpp's `perplexity` does: lower is better. Ids are used unchanged.
   * @throws {ArgumentError | BusyError | DisposedError | TokenizerError}
   */
  async perplexity(text: string | ArrayLike<number>, options: PerplexityOptions = {}): Promise<Perplexity> {
    const { signal } = checkOptions("perplexity", options, perplexityKinds);
    return this.#context.use(async () => (await import("./perplexity.ts")).perplexity(this.#context, text, options), signal);
  }

  /**
   * Frees weights, cache and file. Running, waiting and later calls of the model and its sessions reject with a `DisposedError`. `info`,
   * `metadata`, `tokenizer` and `chatTemplate` stay usable.
   */
  async dispose(): Promise<void> {
    this.#disposal ??= this.#context.dispose();
    await this.#disposal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #toolFormat(): Promise<ToolFormat> {
    const { findFormat } = await import("../tools/toolCalls.ts");
    return findFormat(this.chatTemplate);
  }
}
