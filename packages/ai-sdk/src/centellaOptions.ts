import type { GenerateOptions } from "@centella/llm";
import { ArgumentError } from "@centella/quant";
import { checkKeys, isRecord } from "@centella/quant/checks";

/** Options of the engine that calls of the AI SDK have, too, by the engine's names. */
const sharedNames = ["maxTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty", "stop", "seed"] as const;
type SharedName = (typeof sharedNames)[number];

/** `providerOptions.centella`: options of `session.generate` that the AI SDK has no names for. */
export type CentellaOptions = Omit<
  GenerateOptions,
  SharedName | "signal" | "onAbort" | "raw" | "progress" | "partial" | "ignoreEos" | "tools" | "toolChoice"
>;

/** Options of every generation of a model whose call gives none, by the names of `session.generate`. */
export type GenerationDefaults = CentellaOptions & Pick<GenerateOptions, SharedName>;

/** Names of {@link CentellaOptions}, all of them: the type knows which. */
const ownNames: Readonly<Record<keyof CentellaOptions, true>> = {
  minP: true,
  typicalP: true,
  topNSigma: true,
  xtcProbability: true,
  xtcThreshold: true,
  dynamicTemperatureRange: true,
  dynamicTemperatureExponent: true,
  repeatPenalty: true,
  repeatLastN: true,
  dryMultiplier: true,
  dryBase: true,
  dryAllowedLength: true,
  dryLastN: true,
  dryBreakers: true,
  mirostat: true,
  mirostatTau: true,
  mirostatEta: true,
  logitBias: true,
  steps: true,
  logprobs: true,
  promptLookup: true,
  draftTokens: true,
  jumpForward: true,
  diffusion: true,
  reasoning: true,
  format: true,
  overflow: true,
  chat: true,
  parallelToolCalls: true,
  strictTools: true,
  toolFormat: true,
};

/** @throws {ArgumentError} for an unknown option; the engine checks their values */
export function centellaOptions(providerOptions: Readonly<Record<string, unknown>> | undefined): CentellaOptions {
  const options = providerOptions?.centella ?? {};
  if (!isRecord(options)) throw new ArgumentError("providerOptions.centella", "an object of options", String(options));
  checkKeys("providerOptions.centella", options, Object.keys(ownNames));
  return options;
}

/** @throws {ArgumentError} for an unknown option */
export function checkDefaults(where: string, defaults: GenerationDefaults = {}): GenerationDefaults {
  checkKeys(where, defaults, [...Object.keys(ownNames), ...sharedNames]);
  return defaults;
}
