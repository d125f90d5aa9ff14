import { defaultSteps, type GenerateOptions, resolveSampling, type SamplingOptions, type SamplingStep } from "@centella/llm";
import { type FormatOptions, formatOptions, readFormat } from "./formatOptions.ts";
import { type Kebab, kebab } from "./kebab.ts";
import { choice, flag, grouped, number, type OptionSpec, type OptionValues, repeated } from "./options.ts";
import { readTools, type ToolFlags, toolFlags } from "./toolOptions.ts";
import { UsageError } from "./usageError.ts";

/** Names of the numeric sampling options in the API, which checks their ranges. */
type NumberName = Exclude<keyof SamplingOptions, "dryBreakers" | "logitBias" | "mirostat" | "steps">;

const numbers: Readonly<Record<NumberName, OptionSpec<number>>> = {
  temperature: number("T", "temperature; 0 picks the likeliest token (default: 0.8)", { aliases: ["--temp"] }),
  topK: number("K", "keep the K likeliest tokens, 0 keeps all (default: 40)"),
  topP: number("P", "keep the likeliest tokens whose probabilities add up to P (default: 0.95)"),
  minP: number("P", "drop tokens below P times the likeliest one (default: 0.05)"),
  typicalP: number("P", "locally typical sampling, 1 is off (default: 1)", { aliases: ["--typical"] }),
  topNSigma: number("N", "keep tokens within N standard deviations of the likeliest, 0 is off (default: 0)", { aliases: ["--top-nsigma"] }),
  xtcProbability: number("P", "probability that XTC excludes the likeliest tokens (default: 0)"),
  xtcThreshold: number("P", "probability from which XTC excludes a token (default: 0.1)"),
  dynamicTemperatureRange: number("T", "vary the temperature by up to T with the entropy (default: 0)", { aliases: ["--dynatemp-range"] }),
  dynamicTemperatureExponent: number("X", "exponent of that entropy (default: 1)", { aliases: ["--dynatemp-exp"] }),
  repeatPenalty: number("X", "penalty for recent tokens, 1 is off (default: 1)"),
  repeatLastN: number("N", "recent tokens that penalties count, -1 for all (default: 64)"),
  frequencyPenalty: number("X", "penalty for each occurrence of a token (default: 0)"),
  presencePenalty: number("X", "penalty for a token that occurred (default: 0)"),
  dryMultiplier: number("X", "strength of DRY against repetitions, 0 is off (default: 0)"),
  dryBase: number("X", "growth of DRY's penalty with their length (default: 1.75)"),
  dryAllowedLength: number("N", "length of repetitions that DRY allows (default: 2)"),
  dryLastN: number("N", "recent tokens that DRY looks at, -1 for all (default: -1)", { aliases: ["--dry-penalty-last-n"] }),
  mirostatTau: number("BITS", "target surprise of Mirostat (default: 5)", { aliases: ["--mirostat-ent"] }),
  mirostatEta: number("X", "learning rate of Mirostat (default: 0.1)", { aliases: ["--mirostat-lr"] }),
  seed: number("SEED", "random seed; repeats a text on the same backend and kind of machine (default: random)", { short: "s" }),
};

type NumberOptions = { readonly [K in NumberName as Kebab<K>]: OptionSpec<number> };

/** The numeric sampling options. */
export const numberOptions: NumberOptions = Object.fromEntries(
  Object.entries(numbers).map(([name, spec]) => [kebab(name), spec]),
) as NumberOptions;

/** Returns the given numeric sampling options as options of the API, which checks them. */
export function readNumbers(values: OptionValues<NumberOptions>): SamplingOptions {
  const given = Object.keys(numbers).flatMap((name) => {
    const value = (values as Readonly<Record<string, unknown>>)[kebab(name)];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given);
}

/** Options of every command that generates text. */
export const generateOptions: NumberOptions &
  FormatOptions &
  ToolFlags & {
    readonly tokens: OptionSpec<number>;
    readonly stop: OptionSpec<readonly string[]>;
    readonly mirostat: OptionSpec<"0" | "1" | "2">;
    readonly steps: OptionSpec<readonly string[]>;
    readonly "logit-bias": OptionSpec<readonly (readonly [string, number])[]>;
    readonly "prompt-lookup": OptionSpec<number>;
    readonly "diffusion-steps": OptionSpec<number>;
    readonly "diffusion-block-length": OptionSpec<number>;
    readonly "diffusion-eps": OptionSpec<number>;
    readonly "diffusion-order": OptionSpec<"confidence" | "entropy" | "margin" | "random">;
    readonly overflow: OptionSpec<"stop" | "shift" | "error">;
    readonly "reasoning-budget": OptionSpec<number>;
    readonly "no-reasoning": OptionSpec<true>;
    readonly "inline-reasoning": OptionSpec<true>;
  } = {
  ...grouped("Generating", {
    tokens: number("N", "maximum number of tokens, -1 for no limit", { short: "n", aliases: ["--n-predict", "--predict"] }),
    stop: repeated("TEXT", "stop before TEXT", (given) => given, { aliases: ["--reverse-prompt"] }),
    overflow: choice(["stop", "shift", "error"], "when the context is full: end the text, forget the older half, or fail (default: stop)"),
    "prompt-lookup": number("N", "draft up to N tokens at a time from the text so far (default: 0)"),
    "diffusion-steps": number("N", "diffusion models: compute the text at most N times (default: once for each token)"),
    "diffusion-block-length": number("N", "diffusion models: fill in N tokens before those after them (default: 32)"),
    "diffusion-eps": number("T", "diffusion models: fill in the whole text at once, by times that fall from 1 to T"),
    "diffusion-order": choice(
      ["confidence", "entropy", "margin", "random"],
      "diffusion models: by what the tokens to fill in are chosen (default: confidence)",
    ),
    "reasoning-budget": number("N", "end the reasoning after N tokens (default: no limit)"),
    "no-reasoning": flag("turn reasoning off: by the chat template's switch, or by an empty thought"),
    "inline-reasoning": flag("print reasoning as part of the answer"),
  }),
  ...formatOptions,
  ...toolFlags,
  ...grouped("Sampling (defaults apply unless the file has its own)", {
    ...numberOptions,
    mirostat: choice(["0", "1", "2"], "version of Mirostat, 0 is off (default: 0)"),
    steps: repeated("STEP,…", `order of the sampling steps (default: ${defaultSteps.join(",")})`, (given) => given),
    "logit-bias": repeated("ID:BIAS", "add BIAS, or -inf, to the logit of token ID", bias),
  }),
};

export type GenerateValues = OptionValues<typeof generateOptions>;

/**
 * Returns the given options as options of the API.
 * @throws {UsageError | ArgumentError} for values out of range or that contradict each other
 */
export function readGenerateOptions(values: GenerateValues): GenerateOptions {
  const sampling: Omit<SamplingOptions, "dryBreakers"> = {
    ...readNumbers(values),
    ...(values.mirostat !== undefined && { mirostat: Number(values.mirostat) as 0 | 1 | 2 }),
    ...(values.steps !== undefined && { steps: values.steps.flatMap((list) => list.split(",")) as SamplingStep[] }),
    ...(values["logit-bias"] !== undefined && { logitBias: Object.fromEntries(values["logit-bias"]) }),
  };
  const format = readFormat(values);
  // The same check as at the call, before a model is loaded.
  resolveSampling(sampling);
  return {
    ...sampling,
    ...(values.tokens !== undefined && values.tokens !== -1 && { maxTokens: values.tokens }),
    ...(values.stop !== undefined && { stop: values.stop }),
    ...(values["prompt-lookup"] !== undefined && { promptLookup: values["prompt-lookup"] }),
    ...(values.overflow !== undefined && { overflow: { generation: values.overflow } }),
    ...diffusionOf(values),
    ...reasoningOf(values),
    ...readTools(values),
    ...(format !== undefined && { format }),
  };
}

function diffusionOf(values: GenerateValues): Pick<GenerateOptions, "diffusion"> {
  const given = {
    steps: values["diffusion-steps"],
    blockLength: values["diffusion-block-length"],
    epsilon: values["diffusion-eps"],
    order: values["diffusion-order"],
  };
  return Object.values(given).every((value) => value === undefined) ? {} : { diffusion: given };
}

/** @throws {UsageError} for options that contradict each other */
function reasoningOf(values: GenerateValues): Pick<GenerateOptions, "reasoning"> {
  const { "reasoning-budget": budget, "no-reasoning": off, "inline-reasoning": isInline } = values;
  if ([budget, off, isInline].filter((given) => given !== undefined).length > 1)
    throw new UsageError("reasoning: expected one of --reasoning-budget, --no-reasoning and --inline-reasoning, got several");
  if (isInline) return { reasoning: false };
  if (off) return { reasoning: { off } };
  return budget === undefined ? {} : { reasoning: { budget } };
}

function bias(given: string, name: string): readonly [string, number] {
  const [, id, value] = /^(\d+):(-inf|[-+.\deE]+)$/.exec(given) ?? [];
  const parsed = value === "-inf" ? Number.NEGATIVE_INFINITY : Number(value);
  if (id === undefined || Number.isNaN(parsed))
    throw new UsageError(`--${name}: expected ID:BIAS with a token id and a number or -inf, got ${given}`);
  return [id, parsed];
}
