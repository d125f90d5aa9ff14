import type { JSONObject, LanguageModelV4FinishReason, LanguageModelV4Usage, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import type { GenerationFinish, ModelInfo } from "@centella/llm";

/** What a generation ends with. */
export interface SdkFinish {
  readonly usage: LanguageModelV4Usage;
  readonly finishReason: LanguageModelV4FinishReason;
  readonly providerMetadata: SharedV4ProviderMetadata;
}

const unified: Readonly<Record<GenerationFinish["reason"], LanguageModelV4FinishReason["unified"]>> = {
  eos: "stop",
  stop: "stop",
  length: "length",
  toolCalls: "tool-calls",
  aborted: "other",
};

/** Token counts, reason and metadata of a finished generation. `providerMetadata.centella` has what the AI SDK has no place for. */
export function sdkFinish(finish: GenerationFinish, reasoning: number, { backend, device }: ModelInfo): SdkFinish {
  const { reason, limit, usage, timings, seed, warnings, complete, logprobs } = finish;
  const { promptTokens, cachedTokens, completionTokens, ...more } = usage;
  const metadata = { backend, device, seed, timings, usage: more, limit, warnings, complete, logprobs };
  return {
    usage: {
      // All prompts are cached at no cost of their own.
      inputTokens: { total: promptTokens, noCache: promptTokens - cachedTokens, cacheRead: cachedTokens, cacheWrite: 0 },
      outputTokens: { total: completionTokens, text: completionTokens - reasoning, reasoning },
      raw: { ...usage },
    },
    finishReason: { unified: unified[reason], raw: reason },
    // A copy of plain data without what is undefined.
    providerMetadata: { centella: JSON.parse(JSON.stringify(metadata)) as JSONObject },
  };
}

/** What a generation ends with that failed. */
export const failed: SdkFinish = {
  usage: {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  },
  finishReason: { unified: "error", raw: "error" },
  providerMetadata: {},
};
