import type { CentellaChatOptions } from "@centella/react/chat";
import type { ToolSet } from "ai";
import type { text } from "../text/english.ts";

/** Name of a number that says how answers are written. */
export type OptionName = keyof typeof text.options;

/** An option of a generation that is a number, and the range that the engine takes. */
export interface NumericOption {
  readonly name: OptionName;
  readonly min?: number;
  readonly max?: number;
  readonly step: number;
  /** The engine's default; undefined if there is none. */
  readonly fallback?: number;
}

/** All options of sampling that are numbers, in the order in which they are shown. */
export const numericOptions: readonly NumericOption[] = [
  { name: "temperature", min: 0, step: 0.05, fallback: 0.8 },
  { name: "topK", min: 0, step: 1, fallback: 40 },
  { name: "topP", min: 0, max: 1, step: 0.01, fallback: 0.95 },
  { name: "minP", min: 0, max: 1, step: 0.01, fallback: 0.05 },
  { name: "maxTokens", min: 1, step: 1 },
  { name: "seed", min: 0, step: 1 },
  { name: "repeatPenalty", min: 0.01, step: 0.01, fallback: 1 },
  { name: "repeatLastN", min: -1, step: 1, fallback: 64 },
  { name: "frequencyPenalty", step: 0.05, fallback: 0 },
  { name: "presencePenalty", step: 0.05, fallback: 0 },
  { name: "typicalP", min: 0, max: 1, step: 0.01, fallback: 1 },
  { name: "topNSigma", min: 0, step: 0.1, fallback: 0 },
  { name: "dynamicTemperatureRange", min: 0, step: 0.05, fallback: 0 },
  { name: "dynamicTemperatureExponent", min: 0, step: 0.1, fallback: 1 },
  { name: "xtcProbability", min: 0, max: 1, step: 0.01, fallback: 0 },
  { name: "xtcThreshold", min: 0, max: 1, step: 0.01, fallback: 0.1 },
  { name: "dryMultiplier", min: 0, step: 0.05, fallback: 0 },
  { name: "dryBase", min: 1, step: 0.05, fallback: 1.75 },
  { name: "dryAllowedLength", min: 0, step: 1, fallback: 2 },
  { name: "dryLastN", min: -1, step: 1, fallback: -1 },
  { name: "mirostat", min: 0, max: 2, step: 1, fallback: 0 },
  { name: "mirostatTau", min: 0, step: 0.1, fallback: 5 },
  { name: "mirostatEta", min: 0, step: 0.01, fallback: 0.1 },
];

/** The options that the address gives, by their names. A value that is no number is left out. */
export function givenOptions(params: URLSearchParams): Partial<Record<OptionName, number>> {
  const given = numericOptions.flatMap(({ name }) => {
    const value = params.get(name);
    return value === null || Number.isNaN(Number(value)) ? [] : [[name, Number(value)] as const];
  });
  return Object.fromEntries(given);
}

/** The system prompt and options that the address gives, as an agent takes them: those that only this engine has are options of the provider. */
export function agentSettings(params: URLSearchParams): NonNullable<CentellaChatOptions<ToolSet>["agent"]> {
  const { maxTokens: maxOutputTokens, temperature, topK, topP, presencePenalty, frequencyPenalty, seed, ...own } = givenOptions(params);
  const shared = { maxOutputTokens, temperature, topK, topP, presencePenalty, frequencyPenalty, seed };
  const instructions = params.get("system") ?? undefined;
  const given = Object.entries({ ...shared, instructions }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), maxRetries: 0, providerOptions: { centella: own } };
}
