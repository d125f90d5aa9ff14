import type { Session } from "@centella/llm";

/** Greedy sampling, as in the peers: without penalties that a file recommends. */
export const greedy = { temperature: 0, repeatPenalty: 1 } as const;

/** Times prompts and decoding in one session, in the process of the model or through a worker. */
export class TimedSession {
  readonly session: Pick<Session, "complete">;
  readonly #vocabSize: number;
  #prompts = 0;

  constructor(session: Pick<Session, "complete">, vocabSize: number) {
    this.session = session;
    this.#vocabSize = vocabSize;
  }

  /** Seconds to compute a prompt of which nothing is cached. */
  async prefill(ids: readonly number[]): Promise<number> {
    const { seconds, cached } = await this.#complete(this.fresh(ids), 1);
    if (cached > 0) throw new Error(`prefill: expected nothing in the cache, got ${cached} tokens`);
    return seconds;
  }

  /** Seconds for `tokens` tokens one after another, after a prompt that is cached. */
  async decode(prompt: readonly number[], tokens: number): Promise<number> {
    await this.#complete(prompt, 1);
    return (await this.#complete(prompt, tokens)).seconds;
  }

  /** Returns the prompt with a first token of its own, so that it is not in the cache. */
  fresh(ids: readonly number[]): readonly number[] {
    return [10 + (this.#prompts++ % (this.#vocabSize - 10)), ...ids.slice(1)];
  }

  async #complete(ids: readonly number[], maxTokens: number): Promise<{ readonly seconds: number; readonly cached: number }> {
    const start = performance.now();
    const { usage } = await this.session.complete({ ids }, { ...greedy, maxTokens });
    // Scaled to `maxTokens`, because a text may end early.
    return { seconds: ((performance.now() - start) / 1e3 / usage.completionTokens) * maxTokens, cached: usage.cachedTokens };
  }
}
