import type { GenerateOptions, ModelInfo } from "@centella/llm";
import { describe } from "@centella/quant/checks";
import type { CreateCoreOptions, LanguageModelParams, SamplingMode } from "./types.ts";

/** What each mode multiplies the model's own temperature by. */
const factors: Readonly<Record<SamplingMode, number>> = {
  "most-predictable": 0,
  predictable: 0.5,
  balanced: 1,
  creative: 1.25,
  "most-creative": 1.5,
};

/** Limits of Chrome. */
const maximum = { topK: 128, temperature: 2 };

/** The engine's values where a file names none. */
const fallback = { topK: 40, temperature: 0.8 };

/** How a session samples. */
export interface Sampling {
  readonly samplingMode: SamplingMode;
  readonly topK: number | undefined;
  readonly temperature: number | undefined;
}

/**
 * Checks the sampling options of a creation. Values above the limits become the limits.
 * @throws {TypeError} for an unknown mode, a value that is no number, and for a mode together with values; {RangeError} for values below 0 or 1
 */
export function readSampling({ samplingMode, topK, temperature }: CreateCoreOptions): Sampling {
  if (samplingMode !== undefined && !Object.hasOwn(factors, samplingMode))
    throw new TypeError(`samplingMode: expected one of ${Object.keys(factors).join(", ")}, got ${describe(samplingMode)}`);
  if (samplingMode !== undefined && (topK !== undefined || temperature !== undefined))
    throw new TypeError("create: expected either samplingMode or topK and temperature, got both; leave one of them out");
  return {
    samplingMode: samplingMode ?? "balanced",
    topK: topK === undefined ? undefined : Math.floor(limited("topK", topK, 1)),
    temperature: temperature === undefined ? undefined : limited("temperature", temperature, 0),
  };
}

/** What a session samples with: its own values, those of the defaults, or the model's. */
export function resolveSampling(
  { samplingMode, topK, temperature }: Sampling,
  defaults: GenerateOptions,
  info: ModelInfo,
): { readonly topK: number; readonly temperature: number } {
  const { defaultTopK, defaultTemperature } = paramsOf(info);
  return {
    topK: topK ?? defaults.topK ?? defaultTopK,
    temperature: temperature ?? (defaults.temperature ?? defaultTemperature) * factors[samplingMode],
  };
}

/** Values and limits of a model, or of the engine while no model is loaded. */
export function paramsOf(info: ModelInfo | undefined): LanguageModelParams {
  return {
    defaultTopK: info?.sampling.topK ?? fallback.topK,
    maxTopK: maximum.topK,
    defaultTemperature: info?.sampling.temperature ?? fallback.temperature,
    maxTemperature: maximum.temperature,
  };
}

function limited(name: "topK" | "temperature", value: number, least: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) throw new TypeError(`${name}: expected a number, got ${describe(value)}`);
  if (value < least) throw new RangeError(`${name}: expected at least ${least}, got ${value}`);
  return Math.min(value, maximum[name]);
}
