import { ArgumentError } from "@centella/core";
import { checkKeys, describe, finite, isRecord, type Kind, kind } from "@centella/quant/checks";

/** Steps of the sampling chain. Their order can be chosen. */
export type SamplingStep = "penalties" | "dry" | "topNSigma" | "topK" | "typicalP" | "topP" | "minP" | "xtc" | "temperature";

/** Default order of the steps, which is llama.cpp's. */
export const defaultSteps: readonly SamplingStep[] = [
  "penalties",
  "dry",
  "topNSigma",
  "topK",
  "typicalP",
  "topP",
  "minP",
  "xtc",
  "temperature",
];

/**
 * How the next token is sampled. Every option is optional. The default is the model's own, which `model.info.sampling` shows, or else the
 * one given below, which is llama.cpp's.
 */
export interface SamplingOptions {
  /**
   * Divides the logits. Values below 1 make likely tokens likelier, values above 1 make the distribution flatter. 0 takes the most likely
   * token, after penalties as in llama.cpp. At least 0, default 0.8.
   */
  readonly temperature?: number;
  /**
   * Lets the temperature vary within `temperature ± range`: low if one token is far likelier than the rest, high if many are about equally
   * likely. 0 turns it off. Default 0.
   */
  readonly dynamicTemperatureRange?: number;
  /** Exponent of the normalised entropy that determines the dynamic temperature. Default 1. */
  readonly dynamicTemperatureExponent?: number;
  /** Keeps the k most likely tokens. 0 keeps all. Default 40. */
  readonly topK?: number;
  /** Keeps the most likely tokens whose probabilities add up to p. 1 keeps all. In 0 … 1, default 0.95. */
  readonly topP?: number;
  /** Keeps tokens that are at least p times as likely as the most likely one. 0 keeps all. In 0 … 1, default 0.05. */
  readonly minP?: number;
  /**
   * Keeps the tokens whose surprise is nearest to the entropy, until their probabilities exceed p. 1 keeps all. In 0 … 1, default 1.
   */
  readonly typicalP?: number;
  /** Keeps tokens whose logits are at most n standard deviations below the greatest one. 0 keeps all. Default 0. */
  readonly topNSigma?: number;
  /** Probability with which XTC excludes all tokens above `xtcThreshold` but the least likely of them. In 0 … 1, default 0. */
  readonly xtcProbability?: number;
  /** Minimum probability of the tokens that XTC may exclude. Above 0.5, XTC does nothing. Default 0.1. */
  readonly xtcThreshold?: number;
  /** Divides the positive logits and multiplies the negative logits of recent tokens. 1 turns it off. Above 0, default 1. */
  readonly repeatPenalty?: number;
  /** Number of recent tokens, including the prompt's, that are penalised. 0: none, -1: all. Default 64. */
  readonly repeatLastN?: number;
  /** Subtracted from a recent token's logit for each time it occurs. Default 0. */
  readonly frequencyPenalty?: number;
  /** Subtracted from a recent token's logit if it occurs at all. Default 0. */
  readonly presencePenalty?: number;
  /**
   * DRY subtracts `dryMultiplier · dryBase^(length - dryAllowedLength)` from the logit of a token that would prolong a
   * repetition of `length` tokens. 0 turns it off. Default 0.
   */
  readonly dryMultiplier?: number;
  /** Base of DRY's penalty. At least 1, default 1.75. */
  readonly dryBase?: number;
  /** Length below which DRY does not penalise repetitions. Default 2. */
  readonly dryAllowedLength?: number;
  /** Number of recent tokens that DRY searches. 0: none, -1: all. Default -1. */
  readonly dryLastN?: number;
  /** Id sequences that interrupt a repetition. Default none. */
  readonly dryBreakers?: readonly (readonly number[])[];
  /**
   * Version of Mirostat, which keeps the surprise of the text near `mirostatTau` bits. It replaces the steps that exclude tokens. 0 turns it
   * off. Default 0.
   */
  readonly mirostat?: 0 | 1 | 2;
  /** Target surprise of Mirostat, in bits. Default 5. */
  readonly mirostatTau?: number;
  /** Learning rate of Mirostat. Default 0.1. */
  readonly mirostatEta?: number;
  /** Added to the logits of token ids before all steps. Minus infinity excludes a token. */
  readonly logitBias?: Readonly<Record<number, number>>;
  /** Order of the steps. Steps that are not listed are skipped. Default {@link defaultSteps}. */
  readonly steps?: readonly SamplingStep[];
  /**
   * Whole number in 0 … 2^53 - 1. The same seed, options and logits give the same tokens. Logits are the same bits on one backend and host.
   * On WASM they depend on whether the JavaScript engine supports relaxed SIMD, unless the backend was created by
   * `wasm({ relaxed: false })`; on a GPU they depend on the device and its driver. Default: random.
   */
  readonly seed?: number;
}

/** Sampling options with every default filled in. */
export type ResolvedSampling = Required<SamplingOptions>;

/** The options of penalties. */
export type PenaltyOptions = Pick<ResolvedSampling, "repeatPenalty" | "repeatLastN" | "frequencyPenalty" | "presencePenalty">;

/** Whether penalties can change a logit. */
export function arePenaltiesOn({ repeatPenalty, repeatLastN, frequencyPenalty, presencePenalty }: PenaltyOptions): boolean {
  return repeatLastN !== 0 && (repeatPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0);
}

interface Rule {
  readonly fallback: () => number;
  readonly expected: string;
  readonly accepts: (value: number) => boolean;
}

type NumericOption = Exclude<keyof ResolvedSampling, "dryBreakers" | "logitBias" | "steps">;

const fraction = { expected: "a number in 0 … 1", accepts: (value: number) => value >= 0 && value <= 1 };
const fromZero = { expected: "a number >= 0", accepts: (value: number) => value >= 0 };
const any = { expected: "a number", accepts: () => true };
const count = { expected: "a whole number >= 0", accepts: (value: number) => Number.isInteger(value) && value >= 0 };
const lastN = { expected: "a whole number >= -1", accepts: (value: number) => Number.isInteger(value) && value >= -1 };

function randomSeed(): number {
  // Node takes 4 ms to load `crypto`.
  return Math.floor(Math.random() * 2 ** 32);
}

const rules: { readonly [K in NumericOption]: Rule } = {
  temperature: { fallback: () => 0.8, ...fromZero },
  dynamicTemperatureRange: { fallback: () => 0, ...fromZero },
  dynamicTemperatureExponent: { fallback: () => 1, ...any },
  topK: { fallback: () => 40, ...count },
  topP: { fallback: () => 0.95, ...fraction },
  minP: { fallback: () => 0.05, ...fraction },
  typicalP: { fallback: () => 1, ...fraction },
  topNSigma: { fallback: () => 0, ...fromZero },
  xtcProbability: { fallback: () => 0, ...fraction },
  xtcThreshold: { fallback: () => 0.1, ...fraction },
  repeatPenalty: { fallback: () => 1, expected: "a number > 0", accepts: (value) => value > 0 },
  repeatLastN: { fallback: () => 64, ...lastN },
  frequencyPenalty: { fallback: () => 0, ...any },
  presencePenalty: { fallback: () => 0, ...any },
  dryMultiplier: { fallback: () => 0, ...fromZero },
  dryBase: { fallback: () => 1.75, expected: "a number >= 1", accepts: (value) => value >= 1 },
  dryAllowedLength: { fallback: () => 2, ...count },
  dryLastN: { fallback: () => -1, ...lastN },
  mirostat: { fallback: () => 0, expected: "0, 1 or 2", accepts: (value) => value === 0 || value === 1 || value === 2 },
  mirostatTau: { fallback: () => 5, ...fromZero },
  mirostatEta: { fallback: () => 0.1, ...fromZero },
  seed: {
    fallback: randomSeed,
    expected: "a whole number in 0 … 2^53 - 1",
    accepts: (value) => Number.isSafeInteger(value) && value >= 0,
  },
};

/** Options of each step. Setting one while its step is not listed is a contradiction. */
const stepOptions: { readonly [S in SamplingStep]: readonly NumericOption[] } = {
  penalties: ["repeatPenalty", "repeatLastN", "frequencyPenalty", "presencePenalty"],
  dry: ["dryMultiplier", "dryBase", "dryAllowedLength", "dryLastN"],
  topNSigma: ["topNSigma"],
  topK: ["topK"],
  typicalP: ["typicalP"],
  topP: ["topP"],
  minP: ["minP"],
  xtc: ["xtcProbability", "xtcThreshold"],
  temperature: ["temperature", "dynamicTemperatureRange", "dynamicTemperatureExponent"],
};

/** Steps that Mirostat replaces. */
const mirostatReplaces = ["topNSigma", "topK", "typicalP", "topP", "minP", "xtc"] as const satisfies readonly SamplingStep[];

/** Names of all options. */
export const samplingOptionNames: readonly (keyof ResolvedSampling)[] = [
  ...(Object.keys(rules) as NumericOption[]),
  "dryBreakers",
  "logitBias",
  "steps",
];

/**
 * Checks options and fills in the defaults: the model's own, or else llama.cpp's. Options that contradict a model's Mirostat turn it off.
 * @throws {ArgumentError} if a value is outside its range, an option is unknown, or options contradict each other
 */
export function resolveSampling(options: SamplingOptions = {}, defaults: SamplingOptions = {}): ResolvedSampling {
  checkKeys("sampling", options, samplingOptionNames);
  checkKeys("sampling", defaults, samplingOptionNames);
  const isOwnMirostatOff = options.mirostat === undefined && contradictsMirostat(options) !== undefined;
  const modelDefaults: SamplingOptions = isOwnMirostatOff ? { ...defaults, mirostat: 0 } : defaults;
  const numbers = Object.fromEntries(
    Object.entries(rules).map(([name, { fallback, expected, accepts }]) => {
      const value = options[name as NumericOption] ?? modelDefaults[name as NumericOption] ?? fallback();
      if (typeof value !== "number" || !Number.isFinite(value) || !accepts(value)) throw wrong(name, expected, value);
      return [name, value];
    }),
  ) as Record<Exclude<NumericOption, "mirostat">, number> & { readonly mirostat: 0 | 1 | 2 };
  const resolved = {
    ...numbers,
    dryBreakers: resolveBreakers(options.dryBreakers ?? []),
    logitBias: resolveBias(options.logitBias ?? {}),
    steps: resolveSteps(options.steps ?? stepsFor(options, modelDefaults.steps)),
  };
  refuseContradictions(options, resolved.steps);
  return resolved;
}

/** Kind of the results of {@link resolveSampling}. */
export const resolvedSampling: Kind = kind("what resolveSampling() returns", (value) => {
  if (!isRecord(value) || !isOrder(value.steps) || !Array.isArray(value.dryBreakers) || !isRecord(value.logitBias)) return false;
  const isSound = ([name, { accepts }]: readonly [string, Rule]): boolean => finite.accepts(value[name]) && accepts(value[name] as number);
  const areLists = value.dryBreakers.every(Array.isArray) && Object.values(value.logitBias).every((bias) => typeof bias === "number");
  return areLists && Object.entries(rules).every(isSound);
});

/** The model's own order of steps, unless it lacks a step for which an option is set. */
function stepsFor(options: SamplingOptions, own: readonly SamplingStep[] | undefined): readonly SamplingStep[] {
  return own !== undefined && defaultSteps.every((step) => own.includes(step) || optionOfStep(options, step) === undefined)
    ? own
    : defaultSteps;
}

function resolveBreakers(breakers: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const isId = (id: unknown): boolean => typeof id === "number" && Number.isInteger(id) && id >= 0;
  if (Array.isArray(breakers) && breakers.every((ids) => Array.isArray(ids) && ids.length > 0 && ids.every(isId))) return breakers;
  throw wrong("dryBreakers", "lists of token ids, none of them empty", breakers);
}

function resolveBias(bias: Readonly<Record<number, number>>): Readonly<Record<number, number>> {
  if (typeof bias !== "object" || bias === null) throw wrong("logitBias", "an object of token ids and numbers", bias);
  for (const [id, value] of Object.entries(bias)) {
    if (/^\d+$/.test(id) && typeof value === "number" && (Number.isFinite(value) || value === Number.NEGATIVE_INFINITY)) continue;
    throw wrong("logitBias", "token ids with numbers or -Infinity", bias);
  }
  return bias;
}

function isOrder(steps: unknown): boolean {
  return Array.isArray(steps) && new Set(steps).size === steps.length && steps.findIndex((step) => !defaultSteps.includes(step)) < 0;
}

function resolveSteps(steps: readonly SamplingStep[]): readonly SamplingStep[] {
  if (isOrder(steps)) return steps;
  throw wrong("steps", `some of ${defaultSteps.join(", ")}, each once`, steps);
}

/** An option of this step that is set. */
function optionOfStep(options: SamplingOptions, step: SamplingStep): NumericOption | undefined {
  return stepOptions[step].find((name) => options[name] !== undefined);
}

function refuseContradictions(options: SamplingOptions, steps: readonly SamplingStep[]): void {
  for (const step of defaultSteps) {
    const name = optionOfStep(options, step);
    if (name === undefined || steps.includes(step)) continue;
    throw new ArgumentError("sampling.steps", `the step ${step}, because ${name} is set`, describe(steps), "leave one of the two out");
  }
  const clash = contradictsMirostat(options);
  if (!options.mirostat || clash === undefined) return;
  throw new ArgumentError("sampling.mirostat", "no other option that excludes tokens", clash, "leave one of the two out");
}

/** An option that does nothing while Mirostat is on. */
function contradictsMirostat(options: SamplingOptions): keyof SamplingOptions | undefined {
  const replaced = mirostatReplaces.map((step) => optionOfStep(options, step)).find((name) => name !== undefined);
  if (replaced !== undefined) return replaced;
  if (options.dynamicTemperatureRange) return "dynamicTemperatureRange";
  return options.steps === undefined ? undefined : "steps";
}

function wrong(name: string, expected: string, value: unknown): ArgumentError {
  return new ArgumentError(`sampling.${name}`, expected, describe(value));
}
