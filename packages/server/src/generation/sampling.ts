import type { GenerateOptions, SamplingStep } from "@centella/llm";
import * as z from "zod/mini";
import type { BodyOf } from "../http/fields.ts";

const finite = (): z.ZodMiniOptional<z.ZodMiniNumber> => z.optional(z.number());
const from = (min: number): z.ZodMiniOptional<z.ZodMiniNumber> => z.optional(z.number().check(z.minimum(min)));
const fraction = (): z.ZodMiniOptional<z.ZodMiniNumber> => z.optional(z.number().check(z.minimum(0), z.maximum(1)));
const whole = (min: number): z.ZodMiniOptional<z.ZodMiniNumber> => z.optional(z.int().check(z.minimum(min)));

/** Sampling steps by the names of llama-server. "infill", which editors send, is a step that this server does not have: it is skipped. */
const steps: Readonly<Record<string, SamplingStep | undefined>> = {
  penalties: "penalties",
  dry: "dry",
  top_n_sigma: "topNSigma",
  top_k: "topK",
  typ_p: "typicalP",
  typical_p: "typicalP",
  top_p: "topP",
  min_p: "minP",
  xtc: "xtc",
  temperature: "temperature",
  infill: undefined,
};

/** Sampling options by the names of OpenAI and llama-server. */
export const samplingFields = {
  temperature: from(0),
  dynatemp_range: from(0),
  dynatemp_exponent: finite(),
  top_k: whole(0),
  top_p: fraction(),
  min_p: fraction(),
  typical_p: fraction(),
  /** As llama-server's page names it. */
  typ_p: fraction(),
  top_n_sigma: finite(),
  xtc_probability: fraction(),
  xtc_threshold: finite(),
  repeat_penalty: z.optional(z.number().check(z.positive())),
  repeat_last_n: whole(-1),
  frequency_penalty: finite(),
  presence_penalty: finite(),
  dry_multiplier: from(0),
  dry_base: from(1),
  dry_allowed_length: whole(0),
  dry_penalty_last_n: whole(-1),
  dry_sequence_breakers: z.optional(z.array(z.string().check(z.minLength(1))).check(z.maxLength(64))),
  mirostat: z.optional(z.literal([0, 1, 2])),
  mirostat_tau: from(0),
  mirostat_eta: finite(),
  /** -1 is a random seed. */
  seed: whole(-1),
  /** Biases by token id, or as pairs. A bias of `false` excludes a token. */
  logit_bias: z.optional(
    z.union([z.record(z.string(), z.number()), z.array(z.tuple([z.int().check(z.minimum(0)), z.union([z.number(), z.literal(false)])]))]),
  ),
  samplers: z.optional(z.array(z.enum(Object.keys(steps) as [string, ...string[]]))),
  ignore_eos: z.optional(z.boolean()),
};

type SamplingBody = BodyOf<typeof samplingFields>;

/** Options of the engine by the fields that have the same meaning. */
const sameMeaning = {
  temperature: "temperature",
  dynatemp_range: "dynamicTemperatureRange",
  dynatemp_exponent: "dynamicTemperatureExponent",
  top_k: "topK",
  top_p: "topP",
  min_p: "minP",
  typical_p: "typicalP",
  typ_p: "typicalP",
  xtc_probability: "xtcProbability",
  xtc_threshold: "xtcThreshold",
  repeat_penalty: "repeatPenalty",
  repeat_last_n: "repeatLastN",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
  dry_multiplier: "dryMultiplier",
  dry_base: "dryBase",
  dry_allowed_length: "dryAllowedLength",
  dry_penalty_last_n: "dryLastN",
  dry_sequence_breakers: "dryBreakers",
  mirostat: "mirostat",
  mirostat_tau: "mirostatTau",
  mirostat_eta: "mirostatEta",
  ignore_eos: "ignoreEos",
} as const satisfies Partial<Record<keyof SamplingBody, keyof GenerateOptions>>;

const fieldsOfSameMeaning = Object.keys(sameMeaning) as readonly (keyof typeof sameMeaning)[];

/** The engine's options for the given fields. */
export function samplingOptions(body: SamplingBody): GenerateOptions {
  const { seed, logit_bias: bias, samplers, top_n_sigma: sigma } = body;
  const same: Record<string, unknown> = {};
  for (const field of fieldsOfSameMeaning) if (body[field] !== undefined) same[sameMeaning[field]] = body[field];
  return {
    ...same,
    // llama-server turns the step off by negative values.
    ...(sigma !== undefined && { topNSigma: Math.max(0, sigma) }),
    ...(seed !== undefined && seed >= 0 && { seed }),
    ...(samplers !== undefined && { steps: samplers.flatMap((name) => steps[name] ?? []) }),
    ...(bias !== undefined && { logitBias: biasOf(bias) }),
  };
}

function biasOf(bias: NonNullable<SamplingBody["logit_bias"]>): Readonly<Record<number, number>> {
  if (!Array.isArray(bias)) return bias;
  return Object.fromEntries(bias.map(([id, value]) => [id, value === false ? Number.NEGATIVE_INFINITY : value]));
}
