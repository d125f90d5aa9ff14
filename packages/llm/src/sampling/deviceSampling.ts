import { leastTemperature } from "@centella/core/backend";
import { SamplingError } from "../errors.ts";
import { arePenaltiesOn, type ResolvedSampling, type SamplingStep } from "./options.ts";

/** Options of core's `sample`, with which a device chooses tokens as the chain on the host does. */
export interface DeviceSampling {
  /** Low and high word. */
  readonly seed: readonly [low: number, high: number];
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
}

/** Steps that a device takes, in its order. */
const deviceSteps: readonly SamplingStep[] = ["topK", "topP", "minP", "temperature"];

/** The options with which a device can choose the tokens, or undefined if the host has to. */
export function deviceSampling(options: ResolvedSampling): DeviceSampling | undefined {
  const { seed, mirostat, logitBias, dynamicTemperatureRange } = options;
  if (mirostat !== 0 || dynamicTemperatureRange !== 0 || Object.keys(logitBias).length > 0) return undefined;
  const steps = options.steps.filter((step) => isOn(step, options));
  const places = steps.map((step) => deviceSteps.indexOf(step));
  if (places.includes(-1)) return undefined;
  const temperature = steps.includes("temperature") ? options.temperature : 1;
  const isGreedy = Math.fround(temperature) < leastTemperature;
  // The greatest logit is the same in any order of the steps.
  if (!isGreedy && places.some((place, i) => place < (places[i - 1] ?? 0))) return undefined;
  return {
    seed: seedWords(seed),
    temperature,
    topK: steps.includes("topK") ? Math.min(options.topK, 2 ** 31 - 1) : 0,
    topP: steps.includes("topP") ? options.topP : 1,
    minP: steps.includes("minP") ? options.minP : 0,
  };
}

/** Low and high word of a seed. */
export function seedWords(seed: number): readonly [low: number, high: number] {
  return [seed >>> 0, Math.floor(seed / 2 ** 32)];
}

/** Returns a token that a device chose. @throws {SamplingError} if there was none */
export function requireChoice(id: number): number {
  if (id >= 0) return id;
  throw new SamplingError(
    "sample: expected finite logits (or -Infinity for excluded tokens) and at least one token, got NaN, Infinity or none; check the model file",
  );
}

/** Whether a step can change a logit or exclude a token. */
function isOn(step: SamplingStep, options: ResolvedSampling): boolean {
  switch (step) {
    case "penalties":
      return arePenaltiesOn(options);
    case "dry":
      return options.dryMultiplier !== 0 && options.dryLastN !== 0;
    case "topNSigma":
      return options.topNSigma > 0;
    case "topK":
      return options.topK > 0;
    case "typicalP":
      return options.typicalP < 1;
    case "topP":
      return options.topP < 1;
    case "minP":
      return options.minP > 0;
    case "xtc":
      return options.xtcProbability > 0 && options.xtcThreshold <= 0.5;
    case "temperature":
      return options.temperature !== 1;
  }
}
