import { defaultSteps, type GenerateOptions, resolveSampling, type SamplingOptions, type SamplingStep } from "@centella/llm";
import { choice, flag, number, type OptionSpec, type OptionValues, repeated } from "./options.ts";
import { UsageError } from "./usageError.ts";

const anyNumber = { min: Number.NEGATIVE_INFINITY };
const fraction = { min: 0, max: 1 };
const count = { min: 0, integer: true };
const lastN = { min: -1, integer: true };

/** The sampling options that are numbers, as the API has them. */
type NumberName = Exclude<keyof SamplingOptions, "dryBreakers" | "logitBias" | "mirostat" | "steps">;

const numbers: Readonly<Record<NumberName, OptionSpec<number>>> = {
  temperature: number("T", "0 is greedy (default: 0.8)", { min: 0 }),
  topK: number("K", "keep the K likeliest tokens, 0 keeps all (default: 40)", count),
  topP: number("P", "keep the likeliest tokens that sum up to P (default: 0.95)", fraction),
  minP: number("P", "drop tokens below P times the likeliest one (default: 0.05)", fraction),
  typicalP: number("P", "keep the tokens of the most typical surprise that sum up to P (default: 1)", fraction),
  topNSigma: number("N", "keep tokens within N standard deviations of the likeliest, 0 keeps all (default: 0)", { min: 0 }),
  xtcProbability: number("P", "how likely the likeliest tokens are excluded (default: 0)", fraction),
  xtcThreshold: number("P", "from which probability XTC counts a token among them (default: 0.1)", { min: 0 }),
  dynamicTemperatureRange: number("T", "let the temperature move by T with the entropy (default: 0)", { min: 0 }),
  dynamicTemperatureExponent: number("X", "power of the entropy that moves it (default: 1)", anyNumber),
  repeatPenalty: number("X", "1 is none (default: 1)", { min: 0 }),
  repeatLastN: number("N", "tokens that penalties look back at, -1 for all (default: 64)", lastN),
  frequencyPenalty: number("X", "for each time that a token occurred (default: 0)", anyNumber),
  presencePenalty: number("X", "for a token that occurred (default: 0)", anyNumber),
  dryMultiplier: number("X", "strength of DRY against repetitions (default: 0)", { min: 0 }),
  dryBase: number("X", "growth of DRY with their length (default: 1.75)", { min: 1 }),
  dryAllowedLength: number("N", "repetitions that DRY lets pass (default: 2)", count),
  dryLastN: number("N", "tokens that DRY looks back at, -1 for all (default: -1)", lastN),
  mirostatTau: number("BITS", "surprise that Mirostat steers to (default: 5)", { min: 0 }),
  mirostatEta: number("X", "how fast it learns (default: 0.1)", { min: 0 }),
  seed: number("SEED", "makes a run repeatable (default: random, and printed)", { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true }),
};

type Kebab<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `-${Lowercase<Head>}`}${Kebab<Tail>}`
  : S;

/** `topK` on the command line is `top-k`. */
const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

type NumberOptions = { readonly [K in NumberName as Kebab<K>]: OptionSpec<number> };

const numberOptions = Object.fromEntries(Object.entries(numbers).map(([name, spec]) => [kebab(name), spec])) as NumberOptions;

/** How a text is generated: options of every command that generates. */
export const generateOptions: NumberOptions & {
  readonly tokens: OptionSpec<number>;
  readonly stop: OptionSpec<readonly string[]>;
  readonly mirostat: OptionSpec<"0" | "1" | "2">;
  readonly steps: OptionSpec<readonly string[]>;
  readonly "logit-bias": OptionSpec<readonly (readonly [string, number])[]>;
  readonly "prompt-lookup": OptionSpec<number>;
  readonly overflow: OptionSpec<"stop" | "shift" | "error">;
  readonly "no-reasoning": OptionSpec<true>;
} = {
  tokens: number("N", "tokens to generate at most (default: 256)", { min: 1, integer: true, short: "n" }),
  stop: repeated("TEXT", "end the text before TEXT", (given) => given),
  ...numberOptions,
  mirostat: choice(["0", "1", "2"], "steer the surprise by this version of Mirostat (default: 0, off)"),
  steps: repeated("STEP,…", `order of the sampling steps (default: ${defaultSteps.join(",")})`, (given) => given),
  "logit-bias": repeated("ID:BIAS", "add BIAS, or -inf, to the logit of token ID", bias),
  "prompt-lookup": number("N", "guess up to N tokens at a time from the text so far (default: 0)", count),
  overflow: choice(["stop", "shift", "error"], "where the context is full: end, forget the oldest half, or fail (default: stop)"),
  "no-reasoning": flag("do not tell what the model thinks apart from its answer"),
};

/**
 * What the API takes. @throws {UsageError} for values that contradict each other
 */
export function readGenerateOptions(values: OptionValues<typeof generateOptions>): GenerateOptions {
  const given: Omit<SamplingOptions, "dryBreakers"> = {
    ...Object.fromEntries(
      Object.keys(numbers).flatMap((name) => {
        const value = (values as Readonly<Record<string, unknown>>)[kebab(name)];
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    ...(values.mirostat !== undefined && { mirostat: Number(values.mirostat) as 0 | 1 | 2 }),
    ...(values.steps !== undefined && { steps: values.steps.flatMap((list) => list.split(",")) as SamplingStep[] }),
    ...(values["logit-bias"] !== undefined && { logitBias: Object.fromEntries(values["logit-bias"]) }),
  };
  try {
    resolveSampling(given);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  return {
    ...given,
    maxTokens: values.tokens ?? 256,
    stop: values.stop,
    promptLookup: values["prompt-lookup"],
    overflow: values.overflow === undefined ? undefined : { generation: values.overflow },
    reasoning: values["no-reasoning"] === true ? false : undefined,
  };
}

function bias(given: string, name: string): readonly [string, number] {
  const [, id, value] = /^(\d+):(-inf|[-+.\deE]+)$/.exec(given) ?? [];
  const parsed = value === "-inf" ? Number.NEGATIVE_INFINITY : Number(value);
  if (id === undefined || Number.isNaN(parsed))
    throw new UsageError(`--${name}: expected ID:BIAS with a token id and a number or -inf, got ${given}`);
  return [id, parsed];
}
