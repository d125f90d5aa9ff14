import type { Rejection } from "@centella/core";
import { formatRejection } from "@centella/core/backend";
import type { ChosenLogprob, ToolCall } from "@centella/llm";

/** What `centella run --json` prints; times in ms, rates in tokens per second, memory in bytes. */
export interface RunReport {
  readonly text: string;
  readonly promptIds: readonly number[];
  readonly ids: readonly number[];
  readonly finishReason: string;
  /** With finishReason "length": the limit that was reached. */
  readonly limit: "maxTokens" | "context" | undefined;
  readonly reasoning: string | undefined;
  /** With a format: whether the text matches it as a whole, and the value of a text that is valid under a schema. */
  readonly complete: boolean | undefined;
  /** With tools: the calls. */
  readonly toolCalls: readonly ToolCall[] | undefined;
  readonly value: unknown;
  readonly logprobs: readonly ChosenLogprob[] | undefined;
  readonly seed: number;
  readonly model: string;
  readonly quantization: string;
  readonly activations: string;
  readonly contextLength: number;
  /** With --context auto: how the length was chosen. */
  readonly contextReason: string | undefined;
  readonly backend: string;
  readonly backendReason: string;
  /** For each backend that was not chosen, its name and the reason, with the op that it cannot compute if there is one. */
  readonly rejected: readonly Rejection[];
  readonly promptTokensPerSecond: number;
  readonly decodeTokensPerSecond: number;
  readonly timeToFirstTokenMs: number;
  /** Tokens that were drafted, and how many of them were accepted. */
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
  /** Largest resident set of the process. */
  readonly peakMemoryBytes: number;
  /** Op calls executed, by backend. */
  readonly opsByBackend: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
}

/** What ran, where and why there, how fast, and in how much memory: one line each. */
export function summarise(report: RunReport): readonly string[] {
  const { model, quantization, backend, backendReason, promptIds, ids, seed } = report;
  const rate = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} tokens/s`;
  return [
    `${model} · ${quantization} · ${backend} (${backendReason})`,
    `prompt ${promptIds.length} tokens, ${rate(report.promptTokensPerSecond)} · decode ${ids.length} tokens, ${rate(report.decodeTokensPerSecond)}` +
      ` · first token after ${report.timeToFirstTokenMs.toFixed(0)} ms · peak memory ${(report.peakMemoryBytes / 2 ** 20).toFixed(0)} MiB · seed ${seed}`,
    ...(report.draftedTokens === 0 ? [] : [`drafted ${report.draftedTokens} tokens, ${report.acceptedTokens} of them accepted`]),
    ...(report.contextReason === undefined ? [] : [`context ${report.contextLength} tokens: ${report.contextReason}`]),
    ...(report.limit === "context"
      ? [`ended because the context of ${report.contextLength} tokens is full; --context or --overflow shift`]
      : []),
    ...report.rejected.map((rejection) => `not ${formatRejection(rejection)}`),
  ];
}
