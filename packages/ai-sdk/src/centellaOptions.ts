import type { GenerateOptions } from "@centella/llm";
import { generateOptionNames } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import { checkKeys, isRecord } from "@centella/quant/checks";

/** Options of the engine that calls of the AI SDK have, too, by the engine's names. */
const sharedNames = ["maxTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty", "stop", "seed"] as const;
/** Options that the provider sets itself, or that have no effect on what it returns. */
const ownedNames = ["signal", "onAbort", "raw", "progress", "partial", "ignoreEos", "tools", "toolChoice"] as const;

type SharedName = (typeof sharedNames)[number];

/** What every call can choose by `providerOptions.centella`. */
export interface AdapterChoice {
  /** Name of one of the model's LoRA adapters. Default: none. */
  readonly adapter?: string | undefined;
}

/** `providerOptions.centella`: options of `session.generate` that the AI SDK has no names for, and the adapter. */
export type CentellaOptions = Omit<GenerateOptions, SharedName | (typeof ownedNames)[number]> & AdapterChoice;

/** Options of every generation of a model whose call gives none, by the names of `session.generate`. */
export type GenerationDefaults = Omit<GenerateOptions, (typeof ownedNames)[number]>;

const defaultNames = generateOptionNames.filter((name) => !isOneOf(ownedNames, name));
const optionNames = defaultNames.filter((name) => !isOneOf(sharedNames, name));

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

type ProviderOptions = Readonly<Record<string, unknown>> | undefined;

/** Options of a generation. @throws {ArgumentError} for an unknown option; the engine checks their values */
export function centellaOptions(providerOptions: ProviderOptions): CentellaOptions {
  return ownOptions(providerOptions, optionNames);
}

/**
 * `providerOptions.centella` of any call: the adapter, and the options `names`.
 * @throws {ArgumentError} for an unknown option
 */
export function ownOptions<Options extends object>(providerOptions: ProviderOptions, names: readonly string[]): Options & AdapterChoice {
  const where = "providerOptions.centella";
  const options = providerOptions?.centella ?? {};
  if (!isRecord(options)) throw new ArgumentError(where, "an object of options", String(options));
  checkKeys(where, options, [...names, "adapter"]);
  return options as Options & AdapterChoice;
}

/** @throws {ArgumentError} for an unknown option */
export function checkDefaults(where: string, defaults: GenerationDefaults = {}): GenerationDefaults {
  checkKeys(where, defaults, defaultNames);
  return defaults;
}
