import type { Output } from "../output.ts";
import type { BatchResult } from "./resultFile.ts";

/** What a batch has done. */
export interface BatchSummary {
  /** Requests that were answered, failed ones included. */
  readonly requests: number;
  readonly failed: number;
  /** Requests that an earlier run had answered. */
  readonly skipped: number;
  /** Lines whose `custom_id` cannot be read. */
  readonly badLines: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  /** Time since the model was loaded. */
  readonly seconds: number;
}

/** Counts of tokens, as OpenAI's APIs name them. */
interface Usage {
  readonly prompt_tokens?: number;
  readonly input_tokens?: number;
  readonly completion_tokens?: number;
  readonly output_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number };
}

type Counts = { -readonly [K in Exclude<keyof BatchSummary, "seconds">]: number };

/** Milliseconds between two lines of progress where stderr is not a terminal. */
const logMs = 10_000;

/** Counts what a batch does, and shows it: always on a terminal, now and then in a log. */
export class BatchProgress {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #startedAt: number;
  #loggedAt: number;
  readonly #counts: Counts = {
    requests: 0,
    failed: 0,
    skipped: 0,
    badLines: 0,
    promptTokens: 0,
    cachedTokens: 0,
    generatedTokens: 0,
  };

  constructor(output: Output, now = (): number => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#startedAt = now();
    this.#loggedAt = this.#startedAt;
  }

  skip(): void {
    this.#counts.skipped++;
  }

  badLine(): void {
    this.#counts.badLines++;
  }

  answer({ response, error }: BatchResult): void {
    const { usage = {} } = (response?.body ?? {}) as { readonly usage?: Usage };
    this.#counts.requests++;
    if (error !== null) this.#counts.failed++;
    this.#counts.promptTokens += usage.prompt_tokens ?? usage.input_tokens ?? 0;
    this.#counts.cachedTokens += usage.prompt_tokens_details?.cached_tokens ?? 0;
    this.#counts.generatedTokens += usage.completion_tokens ?? usage.output_tokens ?? 0;
    this.#show();
  }

  /** Writes the last line. */
  end(): BatchSummary {
    const summary = this.#summary;
    this.#output.warn(lineOf(summary));
    return summary;
  }

  #show(): void {
    if (this.#output.showsStatus) this.#output.status(lineOf(this.#summary));
    else if (this.#now() - this.#loggedAt >= logMs) {
      this.#loggedAt = this.#now();
      this.#output.warn(lineOf(this.#summary));
    }
  }

  get #summary(): BatchSummary {
    return { ...this.#counts, seconds: (this.#now() - this.#startedAt) / 1000 };
  }
}

function lineOf({ requests, failed, skipped, badLines, promptTokens, generatedTokens, seconds }: BatchSummary): string {
  const number = (value: number): string => Math.round(value).toLocaleString("en-US");
  const parts = [
    `${number(requests)} requests answered`,
    ...(failed > 0 ? [`${number(failed)} of them with errors`] : []),
    ...(badLines > 0 ? [`${number(badLines)} bad lines`] : []),
    ...(skipped > 0 ? [`${number(skipped)} answered before`] : []),
    `${number(promptTokens)} prompt and ${number(generatedTokens)} generated tokens in ${seconds.toFixed(1)} s`,
    `${number((promptTokens + generatedTokens) / Math.max(seconds, 1e-3))} tokens/s`,
  ];
  return parts.join(", ");
}
