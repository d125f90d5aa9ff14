import type { PrefillProgress } from "@centella/llm";

/** Progress of the prompts of a request, as llama-server reports it. */
export class PromptProgress {
  /** By the number of the text: tokens that were in the cache, and when the first report came. */
  readonly #starts = new Map<number, { readonly cache: number; readonly at: number }>();

  /** What a stream says about a text's prompt. */
  of(choice: number, { done, total }: Pick<PrefillProgress, "done" | "total">): object {
    const start = this.#starts.get(choice) ?? { cache: done, at: performance.now() };
    this.#starts.set(choice, start);
    return { prompt_progress: { total, cache: start.cache, processed: done, time_ms: Math.round(performance.now() - start.at) } };
  }
}
