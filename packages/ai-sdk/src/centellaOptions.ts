import type { GenerateOptions } from "@centella/llm";
import { generateOptionNames } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import { checkKeys, isRecord } from "@centella/quant/checks";

/** Options of the engine that calls of the AI SDK have, too, by the engine's names. */
const sharedNames = ["maxTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty", "stop", "seed"] as const;
/** Options that the provider sets itself, or that have no effect on what it returns. */
const ownedNames = ["signal", "onAbort", "raw", "progress", "partial", "ignoreEos", "tools", "toolChoice"] as const;

type SharedName = (typeof sharedNames)[number];

/** `providerOptions.centella`: options of `session.generate` that the AI SDK has no names for. */
export type CentellaOptions = Omit<GenerateOptions, SharedName | (typeof ownedNames)[number]>;

/** Options of every generation of a model whose call gives none, by the names of `session.generate`. */
export type GenerationDefaults = CentellaOptions & Pick<GenerateOptions, SharedName>;

const defaultNames = generateOptionNames.filter((name) => !isOneOf(ownedNames, name));
const optionNames = defaultNames.filter((name) => !isOneOf(sharedNames, name));

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

/** @throws {ArgumentError} for an unknown option; the engine checks their values */
export function centellaOptions(providerOptions: Readonly<Record<string, unknown>> | undefined): CentellaOptions {
  const options = providerOptions?.centella ?? {};
  if (!isRecord(options)) throw new ArgumentError("providerOptions.centella", "an object of options", String(options));
  checkKeys("providerOptions.centella", options, optionNames);
  return options;
}

/** @throws {ArgumentError} for an unknown option */
export function checkDefaults(where: string, defaults: GenerationDefaults = {}): GenerationDefaults {
  checkKeys(where, defaults, defaultNames);
  return defaults;
}
