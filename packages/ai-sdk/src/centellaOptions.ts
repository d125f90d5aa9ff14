import type { GenerateOptions } from "@centella/llm";
import { ArgumentError } from "@centella/quant";
import { checkKeys, isRecord } from "@centella/quant/checks";

/** Options of the engine that the AI SDK has no names for. */
const ownNames = [
  "minP",
  "typicalP",
  "topNSigma",
  "xtcProbability",
  "xtcThreshold",
  "dynamicTemperatureRange",
  "dynamicTemperatureExponent",
  "repeatPenalty",
  "repeatLastN",
  "dryMultiplier",
  "dryBase",
  "dryAllowedLength",
  "dryLastN",
  "dryBreakers",
  "mirostat",
  "mirostatTau",
  "mirostatEta",
  "logitBias",
  "steps",
  "logprobs",
  "promptLookup",
  "jumpForward",
  "reasoning",
  "format",
  "overflow",
  "chat",
  "parallelToolCalls",
  "strictTools",
  "toolFormat",
] as const satisfies readonly (keyof GenerateOptions)[];

/** Options of the engine that calls of the AI SDK have, too, by the engine's names. */
const sharedNames = [
  "maxTokens",
  "temperature",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "stop",
  "seed",
] as const satisfies readonly (keyof GenerateOptions)[];

/** `providerOptions.centella`: options of `session.generate` that the AI SDK has no names for. */
export type CentellaOptions = Pick<GenerateOptions, (typeof ownNames)[number]>;

/** Options of every generation of a model whose call gives none, by the names of `session.generate`. */
export type GenerationDefaults = CentellaOptions & Pick<GenerateOptions, (typeof sharedNames)[number]>;

/** @throws {ArgumentError} for an unknown option; the engine checks their values */
export function centellaOptions(providerOptions: Readonly<Record<string, unknown>> | undefined): CentellaOptions {
  const options = providerOptions?.centella ?? {};
  if (!isRecord(options)) throw new ArgumentError("providerOptions.centella", "an object of options", String(options));
  checkKeys("providerOptions.centella", options, ownNames);
  return options;
}

/** @throws {ArgumentError} for an unknown option */
export function checkDefaults(where: string, defaults: GenerationDefaults = {}): GenerationDefaults {
  checkKeys(where, defaults, [...ownNames, ...sharedNames]);
  return defaults;
}
