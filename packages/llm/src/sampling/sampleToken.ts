import { argmax, type Candidates, candidatesOf, pick } from "./candidates.ts";
import type { ResolvedSampling } from "./options.ts";
import { uniformAt } from "./philox.ts";
import { applyPenalties, applyTemperature, minP, topK, topP } from "./steps.ts";

/** Where in a sequence a token is chosen. */
export interface SamplingPlace {
  /** Ids so far, prompt included: what penalties look at. */
  readonly history: ArrayLike<number>;
  /** Selects the random number together with the seed; the new token's place in the sequence by default (`history.length`). */
  readonly position?: number;
}

/**
 * The tokens that may come next after penalties, top-k, top-p, min-p and temperature, in llama.cpp's order; temperature 0
 * leaves the most likely one.
 * @throws {SamplingError} if logits are not finite or none is left, or the history has an id outside the logits
 */
export function sampleCandidates(logits: Float32Array, history: ArrayLike<number>, options: ResolvedSampling): Candidates {
  const penalised = applyPenalties(logits, history, options);
  if (options.temperature === 0) {
    const best = argmax(penalised);
    return { ids: Int32Array.of(best), logits: Float32Array.of(penalised[best]!), sorted: true };
  }
  const kept = minP(topP(topK(candidatesOf(penalised), options.topK), options.topP), options.minP);
  return applyTemperature(kept, options.temperature);
}

/**
 * Chooses the next token. The same arguments always give the same token.
 * @throws {SamplingError} as {@link sampleCandidates}
 */
export function sampleToken(logits: Float32Array, options: ResolvedSampling, place: SamplingPlace): number {
  const candidates = sampleCandidates(logits, place.history, options);
  if (candidates.ids.length === 1) return candidates.ids[0]!;
  return pick(candidates, uniformAt(options.seed, place.position ?? place.history.length));
}
