import { uniformAt } from "@centella/core/backend";
import { check, checkOptions, checkValue, floatArray, type Kinds, whole } from "@centella/quant/checks";
import { numbers } from "../generate/ids.ts";
import { argmax, type Candidates, candidatesOf, pick } from "./candidates.ts";
import { defaultSteps, type ResolvedSampling, resolvedSampling, type SamplingStep } from "./options.ts";
import {
  applyBias,
  applyPenalties,
  applyTemperature,
  arePenaltiesOn,
  dynamicTemperature,
  minP,
  mostLikely,
  topK,
  topNSigma,
  topP,
  typicalP,
  xtc,
} from "./steps.ts";

/** Where in a sequence a token is chosen. */
export interface SamplingPlace {
  /** Ids so far, prompt included: what penalties look at. */
  readonly history: ArrayLike<number>;
  /** Selects the random number together with the seed; the new token's place in the sequence by default (`history.length`). */
  readonly position?: number;
}

const placeKinds: Kinds<SamplingPlace> = { history: numbers, position: whole(0) };

/** Streams of random numbers at one position. */
const choiceStream = 0;
const xtcStream = 1;

/** Steps that change single logits; the others leave tokens out or scale them all. */
const logitSteps: readonly SamplingStep[] = ["penalties", "dry"];

/** What few ask for, code of its own. */
export type RareSampling = Pick<typeof import("./rare.ts"), "dryPenalties" | "mirostat">;

/** Whether options ask for it. */
export function needsRare({ dryMultiplier, mirostat }: ResolvedSampling): boolean {
  return dryMultiplier !== 0 || mirostat !== 0;
}

/** Chooses the tokens of one text, one after another: what Mirostat has learned lasts from token to token. */
export class Chain {
  readonly #options: ResolvedSampling;
  readonly #rare: RareSampling | undefined;
  /** Surprise in bits that Mirostat allows. */
  #mu: number;

  /** `rare`: given where {@link needsRare} says so. */
  constructor(options: ResolvedSampling, rare: RareSampling | undefined) {
    checkValue("sampling", options, resolvedSampling);
    this.#options = options;
    this.#rare = rare;
    this.#mu = 2 * options.mirostatTau;
  }

  /** Whether every token is the one with the greatest logit, so that nobody has to look at the others. */
  get isGreedy(): boolean {
    const { mirostat, steps, temperature, dynamicTemperatureRange, logitBias, dryMultiplier } = this.#options;
    if (mirostat !== 0 || temperature !== 0 || dynamicTemperatureRange !== 0 || !steps.includes("temperature")) return false;
    if (Object.keys(logitBias).length > 0 || (dryMultiplier !== 0 && steps.includes("dry"))) return false;
    return steps.every(
      (step) => step === "dry" || (step === "penalties" ? !arePenaltiesOn(this.#options) : !canDethrone(step, this.#options)),
    );
  }

  /**
   * The next token. Samplers of the same options that are given the same arguments in the same order choose the same tokens.
   * @throws {SamplingError} as {@link chainCandidates}
   */
  sample(logits: Float32Array, place: SamplingPlace): number {
    checkOptions("sample", place, placeKinds);
    check("sample", "place.history", place.history, numbers);
    const { seed, mirostat: version, mirostatTau: tau, mirostatEta: eta } = this.#options;
    const candidates = chainCandidates(logits, place.history, this.#options, this.#rare, place.position);
    if (candidates.ids.length === 1) return candidates.ids[0]!;
    const uniform = uniformAt(seed, place.position ?? place.history.length, choiceStream);
    if (version === 0) return pick(candidates, uniform);
    const { id, mu } = this.#rare!.mirostat(candidates, { version, tau, eta }, this.#mu, uniform, logits.length);
    this.#mu = mu;
    return id;
  }
}

/**
 * The tokens that may come next: after logit biases and the steps in their order; temperature 0 leaves the most likely one. With
 * Mirostat on, before its own choice.
 * @throws {SamplingError} if logits are not finite or none is left, or an id of the history or of a bias is outside the logits
 */
export function chainCandidates(
  logits: Float32Array,
  history: ArrayLike<number>,
  options: ResolvedSampling,
  rare: RareSampling | undefined,
  position: number = history?.length,
): Candidates {
  check("sample", "logits", logits, floatArray);
  check("sample", "history", history, numbers);
  check("sample", "position", position, whole(0));
  const steps = options.mirostat === 0 ? options.steps : defaultSteps.filter((step) => logitSteps.includes(step) || step === "temperature");
  const biased = applyBias(logits, options.logitBias);
  // The first steps usually are those that change single logits: there is no list of candidates yet to be copied.
  const firstOther = steps.findIndex((step) => !logitSteps.includes(step));
  const end = firstOther < 0 ? steps.length : firstOther;
  const [before, after] = [steps.slice(0, end), steps.slice(end)];
  const changed = before.reduce<Float32Array>((values, step) => changeLogits(values, step, history, options, rare), biased);
  const isGreedy = options.temperature === 0 && options.dynamicTemperatureRange === 0 && steps.includes("temperature");
  if (isGreedy && !after.some((step) => canDethrone(step, options))) {
    const best = argmax(changed);
    return { ids: Int32Array.of(best), logits: Float32Array.of(changed[best]!), sorted: true };
  }
  const uniform = uniformAt(options.seed, position, xtcStream);
  return after.reduce<Candidates>(
    (candidates, step) => applyStep(candidates, step, history, options, rare, logits.length, uniform),
    candidatesOf(changed),
  );
}

/** Whether a step after the first ones can make another token the most likely one. */
function canDethrone(step: SamplingStep, { typicalP, xtcProbability }: ResolvedSampling): boolean {
  return logitSteps.includes(step) || (step === "typicalP" && typicalP < 1) || (step === "xtc" && xtcProbability > 0);
}

function changeLogits(
  logits: Float32Array,
  step: SamplingStep,
  history: ArrayLike<number>,
  options: ResolvedSampling,
  rare: RareSampling | undefined,
): Float32Array {
  if (step === "penalties") return applyPenalties(logits, history, options);
  const penalties = rare?.dryPenalties(history, options);
  if (penalties === undefined || penalties.size === 0) return logits;
  const out = logits.slice();
  for (const [id, penalty] of penalties) out[id] = out[id]! - penalty;
  return out;
}

function applyStep(
  candidates: Candidates,
  step: SamplingStep,
  history: ArrayLike<number>,
  options: ResolvedSampling,
  rare: RareSampling | undefined,
  vocabulary: number,
  uniform: number,
): Candidates {
  switch (step) {
    case "penalties":
    case "dry": {
      const all = new Float32Array(vocabulary).fill(Number.NEGATIVE_INFINITY);
      for (const [i, id] of candidates.ids.entries()) all[id] = candidates.logits[i]!;
      return candidatesOf(changeLogits(all, step, history, options, rare));
    }
    case "topNSigma":
      return topNSigma(candidates, options.topNSigma);
    case "topK":
      return topK(candidates, options.topK);
    case "typicalP":
      return typicalP(candidates, options.typicalP);
    case "topP":
      return topP(candidates, options.topP);
    case "minP":
      return minP(candidates, options.minP);
    case "xtc":
      return xtc(candidates, options.xtcProbability, options.xtcThreshold, uniform);
    case "temperature": {
      const { temperature, dynamicTemperatureRange, dynamicTemperatureExponent } = options;
      const chosen = dynamicTemperature(candidates, temperature, dynamicTemperatureRange, dynamicTemperatureExponent);
      return chosen === 0 ? mostLikely(candidates) : applyTemperature(candidates, chosen);
    }
  }
}
