import { leastTemperature, randomWord, uniformAt } from "@centella/core/backend";
import { check, checkOptions, checkValue, floatArray, type Kinds, whole } from "@centella/quant/checks";
import { numberList } from "../tokenizer/tokenIds.ts";
import { argmax, type Candidates, candidatesOf, pick } from "./candidates.ts";
import { seedWords } from "./deviceSampling.ts";
import { arePenaltiesOn, defaultSteps, type ResolvedSampling, resolvedSampling, type SamplingStep } from "./options.ts";
import {
  applyBias,
  applyPenalties,
  applyTemperature,
  dynamicTemperature,
  minP,
  mostLikely,
  topK,
  topNSigma,
  topP,
  typicalP,
  xtc,
} from "./steps.ts";

/** Position in a sequence at which a token is sampled. */
export interface SamplingPlace {
  /** Ids so far, including the prompt. Penalties depend on them. */
  readonly history: ArrayLike<number>;
  /** Selects the random number, together with the seed. Default: the new token's position in the sequence (`history.length`). */
  readonly position?: number;
}

const placeKinds: Kinds<SamplingPlace> = { history: numberList, position: whole(0) };

/** Stream of XTC's random numbers. The choice at the same position uses stream 0. */
const xtcStream = 1;

/** Steps that change the logits of single tokens. The remaining steps exclude tokens or scale all logits. */
const logitSteps: readonly SamplingStep[] = ["penalties", "dry"];

/** Algorithms that few options ask for. Generations load their code on demand. */
export interface LazyAlgorithms {
  readonly dryPenalties?: typeof import("./dry.ts").dryPenalties;
  readonly mirostat?: typeof import("./mirostat.ts").mirostat;
}

/** Loads the algorithms that the options ask for. */
export async function loadAlgorithms({ dryMultiplier, mirostat }: ResolvedSampling): Promise<LazyAlgorithms> {
  return {
    ...(dryMultiplier !== 0 && { dryPenalties: (await import("./dry.ts")).dryPenalties }),
    ...(mirostat !== 0 && { mirostat: (await import("./mirostat.ts")).mirostat }),
  };
}

/**
 * Samples the tokens of one text, one after another. Chains with equal options that get equal arguments in the same order sample equal
 * tokens.
 */
export class SamplingChain {
  readonly #options: ResolvedSampling;
  readonly #algorithms: LazyAlgorithms;
  /** Maximum surprise in bits that Mirostat currently allows. */
  #mu: number;

  /** `algorithms` must contain those that the options ask for. */
  constructor(options: ResolvedSampling, algorithms: LazyAlgorithms) {
    checkValue("sampling", options, resolvedSampling);
    this.#options = options;
    this.#algorithms = algorithms;
    this.#mu = 2 * options.mirostatTau;
  }

  /** Whether every token is the one with the greatest logit, so that no other logit has to be read. */
  get isGreedy(): boolean {
    const { mirostat, steps, temperature, dynamicTemperatureRange, logitBias, dryMultiplier } = this.#options;
    if (mirostat !== 0 || temperature !== 0 || dynamicTemperatureRange !== 0 || !steps.includes("temperature")) return false;
    if (Object.keys(logitBias).length > 0 || (dryMultiplier !== 0 && steps.includes("dry"))) return false;
    return steps.every(
      (step) => step === "dry" || (step === "penalties" ? !arePenaltiesOn(this.#options) : !canChangeArgmax(step, this.#options)),
    );
  }

  /** Samples the next token. @throws {SamplingError} as {@link candidates} */
  sample(logits: Float32Array, place: SamplingPlace): number {
    checkOptions("sample", place, placeKinds);
    check("sample", "place.history", place.history, numberList);
    const { seed, mirostat: version, mirostatTau: tau, mirostatEta: eta } = this.#options;
    const candidates = this.candidates(logits, place.history, place.position);
    const [only] = candidates.ids;
    if (candidates.ids.length === 1 && only !== undefined) return only;
    const random = randomWord(seedWords(seed), place.position ?? place.history.length);
    const { mirostat } = this.#algorithms;
    if (version === 0 || mirostat === undefined) return pick(candidates, random);
    const { id, mu } = mirostat(candidates, { version, tau, eta }, this.#mu, random, logits.length);
    this.#mu = mu;
    return id;
  }

  /**
   * The tokens that may come next: after logit biases and the steps in their order. With temperature 0 that is the most likely token. With
   * Mirostat, they are the tokens that Mirostat chooses from.
   * @throws {SamplingError} if logits are not finite, if no token is left, or if an id of the history or of a bias is outside the logits
   */
  candidates(logits: Float32Array, history: ArrayLike<number>, position: number = history?.length): Candidates {
    check("sample", "logits", logits, floatArray);
    check("sample", "history", history, numberList);
    check("sample", "position", position, whole(0));
    const options = this.#options;
    const isUsed = (step: SamplingStep): boolean => logitSteps.includes(step) || step === "temperature";
    const steps = options.mirostat === 0 ? options.steps : defaultSteps.filter(isUsed);
    // Leading steps that change single logits work on the logits themselves, which saves copies of a list of candidates.
    const firstListStep = steps.findIndex((step) => !logitSteps.includes(step));
    const end = firstListStep < 0 ? steps.length : firstListStep;
    const changed = steps
      .slice(0, end)
      .reduce<Float32Array>((values, step) => this.#changeLogits(values, step, history), applyBias(logits, options.logitBias));
    const rest = steps.slice(end);
    const isGreedy = options.temperature === 0 && options.dynamicTemperatureRange === 0 && steps.includes("temperature");
    if (isGreedy && !rest.some((step) => canChangeArgmax(step, options))) {
      const best = argmax(changed);
      return { ids: Int32Array.of(best), logits: changed.slice(best, best + 1), sorted: true };
    }
    const scope: StepScope = { history, vocabSize: logits.length, uniform: uniformAt(options.seed, position, xtcStream) };
    return rest.reduce<Candidates>((candidates, step) => this.#apply(candidates, step, scope), candidatesOf(changed));
  }

  #changeLogits(logits: Float32Array, step: SamplingStep, history: ArrayLike<number>): Float32Array {
    if (step === "penalties") return applyPenalties(logits, history, this.#options);
    const penalties = this.#algorithms.dryPenalties?.(history, this.#options);
    if (penalties === undefined || penalties.size === 0) return logits;
    const out = logits.slice();
    for (const [id, penalty] of penalties) out[id]! -= penalty;
    return out;
  }

  #apply(candidates: Candidates, step: SamplingStep, { history, vocabSize, uniform }: StepScope): Candidates {
    const options = this.#options;
    switch (step) {
      case "penalties":
      case "dry": {
        const all = new Float32Array(vocabSize).fill(Number.NEGATIVE_INFINITY);
        for (const [i, id] of candidates.ids.entries()) all[id] = candidates.logits[i]!;
        return candidatesOf(this.#changeLogits(all, step, history));
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
        return Math.fround(chosen) < leastTemperature ? mostLikely(candidates) : applyTemperature(candidates, chosen);
      }
    }
  }
}

/** What steps depend on besides the options. */
interface StepScope {
  readonly history: ArrayLike<number>;
  readonly vocabSize: number;
  /** Random number of XTC. */
  readonly uniform: number;
}

/** Whether a step can make another token the most likely one. */
function canChangeArgmax(step: SamplingStep, { typicalP, xtcProbability }: ResolvedSampling): boolean {
  return logitSteps.includes(step) || (step === "typicalP" && typicalP < 1) || (step === "xtc" && xtcProbability > 0);
}
