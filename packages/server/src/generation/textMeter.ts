import type { GenerationPart } from "@centella/llm";
import { ApiError } from "../errors.ts";

/** Where a text ends before its own end. */
export interface TextLimits {
  /** Tokens of the prompt and the text. Default: the model's context. */
  readonly context?: number | undefined;
  /** Milliseconds since the first text, after which a text that has a line feed ends. Default: no limit. */
  readonly textMs?: number | undefined;
}

/** Counts the tokens of a text, and ends it where a limit is reached. */
export class TextMeter {
  readonly #context: number;
  readonly #textMs: number;
  readonly #full: AbortController | undefined;
  readonly #signal: AbortSignal;
  /** Tokens of the prompt and the text so far. */
  #length = 0;
  #reasoningTokens = 0;
  #startedAt: number | undefined;
  #hasLine = false;

  constructor({ context, textMs }: TextLimits, signal: AbortSignal) {
    this.#context = context ?? Number.POSITIVE_INFINITY;
    this.#textMs = textMs ?? Number.POSITIVE_INFINITY;
    this.#full = context === undefined && textMs === undefined ? undefined : new AbortController();
    this.#signal = this.#full === undefined ? signal : AbortSignal.any([signal, this.#full.signal]);
  }

  /** Aborted with the given signal, and at a limit. */
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
      this.#length = part.total;
      if (this.#length >= this.#context) throw tooLong(this.#length, this.#context);
      return;
    }
    this.#length += part.ids.length;
    if (part.type === "reasoning") this.#reasoningTokens += part.ids.length;
    if (this.#length >= this.#context || this.#isLate(part)) this.#full?.abort();
  }

  /** Whether the time of the text is over. */
  #isLate(part: Exclude<GenerationPart, { readonly type: "finish" | "prefill" }>): boolean {
    if (this.#textMs === Number.POSITIVE_INFINITY) return false;
    this.#startedAt ??= performance.now();
    this.#hasLine ||= part.type !== "toolCall" && part.text.includes("\n");
    return this.#hasLine && performance.now() - this.#startedAt > this.#textMs;
  }
}

function tooLong(tokens: number, limit: number): ApiError {
  return new ApiError(
    400,
    "context_length_exceeded",
    `prompt: expected fewer than ${limit} tokens for this key, got ${tokens}; shorten it`,
  );
}
