import type { Metadata } from "@centella/gguf";
import { resolveSampling, type SamplingOptions, type SamplingStep } from "./options.ts";

/** Prefix of the metadata keys that hold a model's own sampling defaults. */
const prefix = "general.sampling.";

/** Keys after the prefix, as llama.cpp defines them, and the options that they set. */
const numberKeys = {
  temp: "temperature",
  top_k: "topK",
  top_p: "topP",
  min_p: "minP",
  xtc_probability: "xtcProbability",
  xtc_threshold: "xtcThreshold",
  penalty_last_n: "repeatLastN",
  penalty_repeat: "repeatPenalty",
  mirostat: "mirostat",
  mirostat_tau: "mirostatTau",
  mirostat_eta: "mirostatEta",
} as const satisfies Readonly<Record<string, keyof SamplingOptions>>;

/** Names of the steps in `general.sampling.sequence`; a hyphen may stand for an underscore. */
const stepNames: Readonly<Record<string, SamplingStep>> = {
  penalties: "penalties",
  dry: "dry",
  top_n_sigma: "topNSigma",
  top_k: "topK",
  typ_p: "typicalP",
  typical: "typicalP",
  typical_p: "typicalP",
  typ: "typicalP",
  top_p: "topP",
  nucleus: "topP",
  min_p: "minP",
  xtc: "xtc",
  temperature: "temperature",
  temp: "temperature",
};

/** A model's own sampling defaults, and a sentence for each value of the file that cannot be used. */
export interface ModelSampling {
  readonly sampling: SamplingOptions;
  readonly warnings: readonly string[];
}

/** Reads the sampling defaults that a file recommends. Unusable values are ignored with a warning. */
export function modelSampling(metadata: Metadata): ModelSampling {
  const sampling: Record<string, unknown> = {};
  const warnings: string[] = [];
  const take = (key: string, name: keyof SamplingOptions, value: unknown): void => {
    try {
      resolveSampling({ [name]: value });
      sampling[name] = value;
    } catch (error) {
      warnings.push(`${key} is ignored: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  for (const [suffix, name] of Object.entries(numberKeys)) {
    const value = metadata.get(prefix + suffix);
    if (value !== undefined) take(prefix + suffix, name, typeof value === "number" ? shortest(value) : value);
  }
  const sequence = metadata.get(`${prefix}sequence`);
  if (sequence !== undefined) take(`${prefix}sequence`, "steps", typeof sequence === "string" ? stepsOf(sequence) : sequence);
  return { sampling, warnings };
}

/** `top_k;temperature` as steps. Unknown names are kept, so that the check of the option reports them. */
function stepsOf(sequence: string): readonly string[] {
  return sequence.split(";").map((name) => stepNames[name.replaceAll("-", "_")] ?? name);
}

/** 0.7 rather than 0.699999988079071, which is how f32 stores it. */
function shortest(value: number): number {
  return Number(value.toPrecision(7));
}
