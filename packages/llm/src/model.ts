import type { Metadata } from "@centella/gguf";
import type { ChatTemplate } from "./chatTemplate.ts";
import type { EmbedInput, EmbedOptions } from "./embed.ts";
import { Engine, type ModelParts } from "./engine.ts";
import { ContextOverflowError } from "./errors.ts";
import { checkIds } from "./ids.ts";
import type { ModelInfo } from "./modelInfo.ts";
import { checkKeys } from "./options.ts";
import type { Perplexity, PerplexityOptions } from "./perplexity.ts";
import { Session, type SessionOptions } from "./session.ts";
import type { Tokenizer } from "./tokenizer/tokenizer.ts";

/** A loaded model: weights and cache on one backend. Dispose of it, or declare it with `await using`. */
export class Model implements AsyncDisposable {
  readonly info: ModelInfo;
  readonly #parts: ModelParts;
  readonly #engine: Engine;
  #disposal: Promise<void> | undefined;

  /** Use `loadModel`. */
  constructor(parts: ModelParts) {
    const { info } = parts;
    this.#parts = parts;
    this.#engine = new Engine(parts, info);
    const problem = this.#engine.tokenizerProblem;
    this.info = problem === undefined ? info : { ...info, warnings: [...info.warnings, problem] };
  }

  /** The file's metadata. */
  get metadata(): Metadata {
    return this.#parts.metadata;
  }

  /** @throws {TokenizerError} if the file has no tokenizer that can be used */
  get tokenizer(): Tokenizer {
    return this.#engine.tokenizer;
  }

  /** @throws {ChatTemplateError} if the file has none or it cannot be parsed */
  get chatTemplate(): ChatTemplate {
    return this.#engine.chatTemplate;
  }

  /** A conversation or a series of completions that reuses what it has computed. Cheap: the cache is the model's. */
  createSession(options: SessionOptions = {}): Session {
    return new Session(this.#engine, options);
  }

  /**
   * A session that goes on from where another one was saved, on this or another backend.
   * @throws {SnapshotError} if the bytes are damaged or not of this model and its cache type; {BusyError}
   */
  restoreSession(bytes: Uint8Array): Promise<Session> {
    return Session.restore(this.#engine, bytes);
  }

  /**
   * Logits of every position of `ids` as one sequence: `[ids.length, vocabSize]`, row-major.
   * @throws {ContextOverflowError | ArgumentError | BusyError | DisposedError}
   */
  async logits(ids: ArrayLike<number>, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Float32Array> {
    checkKeys("logits", options, ["signal"]);
    this.#engine.requireLogits("logits");
    const { decoder, pool } = this.#engine;
    const tokens = checkIds(ids, decoder.vocabSize);
    if (tokens.length > decoder.contextLength) throw new ContextOverflowError(tokens.length, decoder.contextLength, decoder.contextLength);
    const owner = {};
    const sequence = pool.acquire(owner);
    try {
      return await decoder.feed(sequence, tokens, { rows: "all", signal: options.signal });
    } finally {
      pool.release(sequence);
      pool.free(owner);
    }
  }

  /**
   * One vector for each text, `[embeddingLength]`: its tokens' states before the output layer, pooled.
   * @throws {ContextOverflowError | ArgumentError | BusyError | DisposedError | TokenizerError}
   */
  async embed(texts: readonly EmbedInput[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    const { embed } = await import("./embed.ts");
    return embed(this.#engine, texts, options);
  }

  /**
   * How well the model predicts a text, measured as llama.cpp's `perplexity` does: lower is better. Ids are taken as they are.
   * @throws {ArgumentError | BusyError | DisposedError | TokenizerError}
   */
  async perplexity(text: string | ArrayLike<number>, options: PerplexityOptions = {}): Promise<Perplexity> {
    const { perplexity } = await import("./perplexity.ts");
    return perplexity(this.#engine, text, options);
  }

  /** Frees weights, cache and file after the work that is queued. Sessions of the model are dead afterwards. */
  async dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    await this.#disposal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #dispose(): Promise<void> {
    await this.#engine.dispose();
    await this.#parts.decoder.dispose();
    await this.#parts.close();
  }
}
