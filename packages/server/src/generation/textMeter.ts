import type { GenerationPart } from "@centella/llm";
import { ApiError } from "../errors.ts";

/** Counts the tokens of a text, and ends it where its caller's limit is reached. */
export class TextMeter {
  readonly #limit: number;
  readonly #full: AbortController | undefined;
  readonly #signal: AbortSignal;
  /** Tokens of the prompt and the text so far. */
  #context = 0;
  #reasoningTokens = 0;

  /** @param limit tokens of the prompt and the text; default: none but the model's */
  constructor(limit: number | undefined, signal: AbortSignal) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#full = limit === undefined ? undefined : new AbortController();
    this.#signal = this.#full === undefined ? signal : AbortSignal.any([signal, this.#full.signal]);
  }

  /** Aborted with the given signal, and at the limit. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /** @throws {ApiError} 400 for a prompt that reaches the limit */
  count(part: GenerationPart): void {
    if (part.type === "finish") return;
    if (part.type === "prefill") {
      this.#context = part.total;
      if (this.#context >= this.#limit) throw tooLong(this.#context, this.#limit);
      return;
    }
    this.#context += part.ids.length;
    if (part.type === "reasoning") this.#reasoningTokens += part.ids.length;
    if (this.#context >= this.#limit) this.#full?.abort();
  }
}

function tooLong(tokens: number, limit: number): ApiError {
  return new ApiError(
    400,
    "context_length_exceeded",
    `prompt: expected fewer than ${limit} tokens for this key, got ${tokens}; shorten it`,
  );
}
