import { distanceOf, minPWeight, topPSum, weightOf } from "@centella/core/backend";
import { SamplingError } from "../errors.ts";
import { largest, largestWhile } from "./candidateHeap.ts";
import type { Candidates } from "./candidates.ts";
import { greatestLogit, probabilities, totalOf, weightsOf } from "./candidates.ts";
import { arePenaltiesOn, type PenaltyOptions, type ResolvedSampling } from "./options.ts";

/**
 * Adds biases to the logits of single tokens. Returns `logits` itself if nothing changes.
 * @throws {SamplingError} if an id is outside the logits
 */
export function applyBias(logits: Float32Array, bias: ResolvedSampling["logitBias"]): Float32Array {
  const entries = Object.entries(bias);
  if (entries.length === 0) return logits;
  const out = logits.slice();
  for (const [key, value] of entries) {
    const id = Number(key);
    if (id >= logits.length) throw new SamplingError(`sample: expected logitBias ids in 0 … ${logits.length - 1}, got ${id}`);
    out[id]! += value;
  }
  return out;
}

/**
 * Makes recent tokens less likely. For a token that occurs `count > 0` times among the last `repeatLastN` ids of `history`:
 * `logit <= 0 ? logit * repeatPenalty : logit / repeatPenalty`, then minus `count * frequencyPenalty + presencePenalty`.
 * Returns `logits` itself if nothing changes.
 * @throws {SamplingError} if the history has an id outside the logits
 */
export function applyPenalties(logits: Float32Array, history: ArrayLike<number>, options: PenaltyOptions): Float32Array {
  const { repeatPenalty, repeatLastN, frequencyPenalty, presencePenalty } = options;
  if (!arePenaltiesOn(options)) return logits;
  const counts = new Map<number, number>();
  for (let i = repeatLastN < 0 ? 0 : Math.max(0, history.length - repeatLastN); i < history.length; i++) {
    const id = history[i]!;
    if (!(id >= 0 && id < logits.length)) throw new SamplingError(`sample: expected history ids in 0 … ${logits.length - 1}, got ${id}`);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  if (counts.size === 0) return logits;
  const out = logits.slice();
  for (const [id, count] of counts) {
    const logit = logits[id]!;
    const scaled = Math.fround(logit <= 0 ? logit * repeatPenalty : logit / repeatPenalty);
    out[id] = scaled - (count * frequencyPenalty + presencePenalty);
  }
  return out;
}

/** Keeps the candidates with the `k` greatest logits, in order. 0 keeps all. */
export function topK(candidates: Candidates, k: number): Candidates {
  return k === 0 ? candidates : largest(candidates, k);
}

/** Keeps the most likely candidates: the fewest, but at least one, whose probabilities add up to `p` or more. 1 keeps all. */
export function topP(candidates: Candidates, p: number): Candidates {
  if (Math.fround(p) >= 1) return candidates;
  const max = greatestLogit(candidates.logits);
  const enough = topPSum(totalOf(weightsOf(candidates)), p);
  let sum = 0;
  return largestWhile(candidates, (logit) => {
    sum += weightOf(distanceOf(max, logit, 1));
    return sum < enough;
  });
}

/** Keeps candidates with `probability >= p * greatest probability`. 0 keeps all. */
export function minP(candidates: Candidates, p: number): Candidates {
  if (p <= 0) return candidates;
  const weights = weightsOf(candidates);
  const least = minPWeight(p);
  return keep(candidates, (i) => weights[i]! >= least);
}

/**
 * Locally typical sampling (Meister et al., 2023): keeps the candidates whose surprise `-ln p` is nearest to the entropy, the fewest
 * whose probabilities add up to more than `p`. 1 keeps all.
 */
export function typicalP(candidates: Candidates, p: number): Candidates {
  if (p >= 1) return candidates;
  const chances = probabilities(candidates);
  const entropy = entropyOf(chances);
  const nearest = Array.from(chances, (chance, i) => ({ i, chance, distance: Math.abs(-Math.log(chance) - entropy) }));
  nearest.sort((a, b) => a.distance - b.distance || a.i - b.i);
  const kept = new Set<number>();
  let sum = 0;
  for (const { i, chance } of nearest) {
    kept.add(i);
    sum += chance;
    if (sum > p) break;
  }
  return keep(candidates, (i) => kept.has(i));
}

/** Keeps candidates whose logits are at most `n` standard deviations below the greatest one (Tang et al., 2024). 0 keeps all. */
export function topNSigma(candidates: Candidates, n: number): Candidates {
  if (n <= 0) return candidates;
  const { logits } = candidates;
  const mean = logits.reduce((sum, logit) => sum + logit, 0) / logits.length;
  const variance = logits.reduce((sum, logit) => sum + (logit - mean) ** 2, 0) / logits.length;
  const limit = greatestLogit(logits) - n * Math.sqrt(variance);
  return keep(candidates, (_, logit) => logit >= limit);
}

/**
 * Exclude top choices (XTC): if `uniform` does not exceed `probability` and several candidates have a probability of at least `threshold`,
 * excludes all of these but the least likely one.
 */
export function xtc(candidates: Candidates, probability: number, threshold: number, uniform: number): Candidates {
  if (probability <= 0 || threshold > 0.5 || uniform > probability) return candidates;
  const sorted = largest(candidates, candidates.ids.length);
  const above = probabilities(sorted).findLastIndex((chance) => chance >= threshold);
  return above > 0 ? { ...sorted, ids: sorted.ids.subarray(above), logits: sorted.logits.subarray(above) } : candidates;
}

/**
 * The temperature within `temperature ± range` for the entropy of the candidates: the entropy's share of the greatest possible one, to the
 * power of `exponent`, is the position within the range. Returns `temperature` if the range is 0.
 */
export function dynamicTemperature(candidates: Candidates, temperature: number, range: number, exponent: number): number {
  const { length } = candidates.ids;
  if (range <= 0 || length < 2) return temperature;
  const low = Math.max(0, temperature - range);
  const share = Math.max(0, entropyOf(probabilities(candidates)) / Math.log(length));
  return low + (temperature + range - low) * share ** exponent;
}

/**
 * `(logit - greatest logit) / temperature` with a temperature above 0. The shift changes no probability and keeps tiny temperatures from
 * overflowing.
 */
export function applyTemperature(candidates: Candidates, temperature: number): Candidates {
  const max = greatestLogit(candidates.logits);
  return { ...candidates, logits: candidates.logits.map((logit) => -distanceOf(max, logit, temperature)) };
}

/** Only the most likely candidate; the lowest id of equals. */
export function mostLikely(candidates: Candidates): Candidates {
  return largest(candidates, 1);
}

/** `-sum(p ln p)`. */
function entropyOf(chances: Float64Array): number {
  return chances.reduce((sum, chance) => (chance > 0 ? sum - chance * Math.log(chance) : sum), 0);
}

function keep({ ids, logits, sorted }: Candidates, isKept: (i: number, logit: number) => boolean): Candidates {
  const kept = logits.map((logit, i) => (isKept(i, logit) ? 1 : 0));
  return { ids: ids.filter((_, i) => kept[i] === 1), logits: logits.filter((_, i) => kept[i] === 1), sorted };
}
