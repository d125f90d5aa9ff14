import type { AnswerFinish } from "../generation/answerParts.ts";

/** Token counts of texts of one request. Texts of one prompt count it once. */
export function usageOf(finishes: readonly AnswerFinish[], choices: number): object {
  const prompts = finishes.filter((_, i) => i % choices === 0);
  const promptTokens = sum(prompts.map(({ usage }) => usage.promptTokens));
  const completionTokens = sum(finishes.map(({ usage }) => usage.completionTokens));
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: sum(prompts.map(({ usage }) => usage.cachedTokens)) },
    completion_tokens_details: { reasoning_tokens: sum(finishes.map(({ reasoningTokens }) => reasoningTokens)) },
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Times as llama-server reports them. */
export function timingsOf({ usage, timings }: AnswerFinish): object {
  const { promptMs, decodeMs, promptTokensPerSecond, decodeTokensPerSecond } = timings;
  const computed = usage.promptTokens - usage.cachedTokens;
  return {
    cache_n: usage.cachedTokens,
    prompt_n: computed,
    prompt_ms: promptMs,
    prompt_per_token_ms: computed > 0 ? promptMs / computed : 0,
    prompt_per_second: promptTokensPerSecond,
    predicted_n: usage.completionTokens,
    predicted_ms: decodeMs,
    predicted_per_token_ms: usage.completionTokens > 0 ? decodeMs / usage.completionTokens : 0,
    predicted_per_second: decodeTokensPerSecond,
    ...(usage.draftedTokens > 0 && { draft_n: usage.draftedTokens, draft_n_accepted: usage.acceptedTokens }),
  };
}
