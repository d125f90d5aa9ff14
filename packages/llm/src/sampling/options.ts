import { ArgumentError } from "@centella/core";

/** How the next token is chosen. Everything is optional; the defaults are llama.cpp's. */
export interface SamplingOptions {
  /** Divides the logits: below 1 sharpens, above 1 flattens; 0 takes the most likely token always. >= 0, default 0.8. */
  readonly temperature?: number;
  /** Keeps the k most likely tokens; 0 keeps all. Default 40. */
  readonly topK?: number;
  /** Keeps the most likely tokens whose probabilities add up to p; 1 keeps all. In 0 … 1, default 0.95. */
  readonly topP?: number;
  /** Keeps tokens that are at least p times as likely as the most likely one; 0 keeps all. In 0 … 1, default 0.05. */
  readonly minP?: number;
  /** Divides the positive and multiplies the negative logits of recent tokens; 1 is off. > 0, default 1. */
  readonly repeatPenalty?: number;
  /** How many recent tokens, prompt included, are penalised; 0 is none, -1 all of them. Default 64. */
  readonly repeatLastN?: number;
  /** Subtracted from a recent token's logit for each time it occurs. Default 0. */
  readonly frequencyPenalty?: number;
  /** Subtracted from a recent token's logit if it occurs at all. Default 0. */
  readonly presencePenalty?: number;
  /** Whole number in 0 … 2^53 - 1. The same seed, options and logits give the same tokens. Default: random. */
  readonly seed?: number;
}

/** Sampling options with every default filled in. */
export type ResolvedSampling = Required<SamplingOptions>;

interface Rule {
  readonly fallback: () => number;
  readonly expected: string;
  readonly accepts: (value: number) => boolean;
}

const rules: { readonly [K in keyof ResolvedSampling]: Rule } = {
  temperature: { fallback: () => 0.8, expected: "a number >= 0", accepts: (value) => value >= 0 },
  topK: { fallback: () => 40, expected: "a whole number >= 0", accepts: (value) => Number.isInteger(value) && value >= 0 },
  topP: { fallback: () => 0.95, expected: "a number in 0 … 1", accepts: (value) => value >= 0 && value <= 1 },
  minP: { fallback: () => 0.05, expected: "a number in 0 … 1", accepts: (value) => value >= 0 && value <= 1 },
  repeatPenalty: { fallback: () => 1, expected: "a number > 0", accepts: (value) => value > 0 },
  repeatLastN: { fallback: () => 64, expected: "a whole number >= -1", accepts: (value) => Number.isInteger(value) && value >= -1 },
  frequencyPenalty: { fallback: () => 0, expected: "a number", accepts: () => true },
  presencePenalty: { fallback: () => 0, expected: "a number", accepts: () => true },
  seed: {
    fallback: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    expected: "a whole number in 0 … 2^53 - 1",
    accepts: (value) => Number.isSafeInteger(value) && value >= 0,
  },
};

const names = Object.keys(rules) as (keyof ResolvedSampling)[];

/**
 * Checks options and fills in the defaults.
 * @throws {ArgumentError} if a value is outside its range or an option is not known
 */
export function resolveSampling(options: SamplingOptions = {}): ResolvedSampling {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) throw new ArgumentError("sampling", `one of ${names.join(", ")}`, unknown);
  const resolve = (name: keyof ResolvedSampling): number => {
    const { fallback, expected, accepts } = rules[name];
    const value = options[name] ?? fallback();
    if (typeof value !== "number" || !Number.isFinite(value) || !accepts(value)) {
      throw new ArgumentError(
        `sampling.${name}`,
        expected,
        typeof value === "number" ? String(value) : (JSON.stringify(value) ?? typeof value),
      );
    }
    return value;
  };
  return {
    temperature: resolve("temperature"),
    topK: resolve("topK"),
    topP: resolve("topP"),
    minP: resolve("minP"),
    repeatPenalty: resolve("repeatPenalty"),
    repeatLastN: resolve("repeatLastN"),
    frequencyPenalty: resolve("frequencyPenalty"),
    presencePenalty: resolve("presencePenalty"),
    seed: resolve("seed"),
  };
}
