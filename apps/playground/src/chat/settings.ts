import type { CentellaChatOptions } from "@centella/react/chat";
import type { JSONValue, ToolSet } from "ai";
import type { text } from "../text/english.ts";

/** Name of an option that says how answers are written. */
export type OptionName = keyof typeof text.options;

/** Name of an option that is written as text. */
export type TextOptionName = keyof typeof text.optionHints;

type NumericOptionName = Exclude<OptionName, TextOptionName>;

/** An option of a generation that is a number, and the range that the engine takes. */
export interface NumericOption {
  readonly name: NumericOptionName;
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

/** An option of a generation that is written as text. */
export interface TextOption {
  readonly name: TextOptionName;
  /** Whether each line is a value. */
  readonly hasLines: boolean;
  /** The engine's default, as text. */
  readonly fallback?: string;
  /** The engine refuses what is not understood, so that the user reads why. */
  readonly parse: (text: string) => unknown;
}

/** All options of sampling that are texts, in the order in which they are shown. */
export const textOptions: readonly TextOption[] = [
  { name: "stop", hasLines: true, parse: (text) => linesOf(text).map(unescaped) },
  { name: "logitBias", hasLines: true, parse: (text) => Object.fromEntries(linesOf(text).map(biasOf)) },
  { name: "dryBreakers", hasLines: true, fallback: '\\n\n:\n"\n*', parse: (text) => linesOf(text).map(unescaped) },
  { name: "steps", hasLines: false, fallback: "penalties dry topNSigma topK typicalP topP minP xtc temperature", parse: wordsOf },
];

/** Names of all options of sampling. */
export const optionNames: readonly OptionName[] = [...numericOptions, ...textOptions].map(({ name }) => name);

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function wordsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

/** A text with its line breaks, which `\n` stands for, as `\\` does for a backslash. */
function unescaped(line: string): string {
  return line.replaceAll(/\\([n\\])/g, (_, letter) => (letter === "n" ? "\n" : "\\"));
}

/** A token id and what is added to its logit, such as `12: -1`. A token without a number is excluded. */
function biasOf(line: string): readonly [id: string, bias: number] {
  const [id = "", bias] = line.split(":", 2).map((part) => part.trim());
  return [id, bias === undefined || bias === "" ? Number.NEGATIVE_INFINITY : Number(bias)];
}

/** The options that the address gives, by their names. A value that is no number is left out where a number is expected. */
export function givenOptions(params: URLSearchParams): Partial<Record<OptionName, unknown>> {
  const numbers = numericOptions.flatMap(({ name }) => {
    const value = params.get(name);
    return value === null || Number.isNaN(Number(value)) ? [] : [[name, Number(value)] as const];
  });
  const texts = textOptions.flatMap(({ name, parse }) => {
    const value = params.get(name) ?? "";
    return value.trim() === "" ? [] : [[name, parse(value)] as const];
  });
  return Object.fromEntries([...numbers, ...texts]);
}

/** The system prompt and options that the address gives, as an agent takes them: those that only this engine has are options of the provider. */
export function agentSettings(params: URLSearchParams): NonNullable<CentellaChatOptions<ToolSet>["agent"]> {
  const { maxTokens, stop, temperature, topK, topP, presencePenalty, frequencyPenalty, seed, ...own } = givenOptions(params);
  const shared = { temperature, topK, topP, presencePenalty, frequencyPenalty, seed, maxOutputTokens: maxTokens, stopSequences: stop };
  const instructions = params.get("system") ?? undefined;
  const given = Object.entries({ ...shared, instructions }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), maxRetries: 0, providerOptions: { centella: own as Readonly<Record<string, JSONValue>> } };
}
