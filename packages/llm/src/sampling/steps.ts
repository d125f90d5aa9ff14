import { SamplingError } from "../errors.ts";
import { largest, largestWhile } from "./candidateHeap.ts";
import type { Candidates } from "./candidates.ts";
import { greatestLogit } from "./candidates.ts";
import type { ResolvedSampling } from "./options.ts";

/** The options that {@link applyPenalties} reads. */
export type PenaltyOptions = Pick<ResolvedSampling, "repeatPenalty" | "repeatLastN" | "frequencyPenalty" | "presencePenalty">;

/**
 * Makes recent tokens less likely. For a token that occurs `count > 0` times among the last `repeatLastN` ids of `history`:
 * `logit <= 0 ? logit * repeatPenalty : logit / repeatPenalty`, then minus `count * frequencyPenalty + presencePenalty`.
 * Returns `logits` itself where nothing changes.
 * @throws {SamplingError} if the history has an id outside the logits
 */
export function applyPenalties(logits: Float32Array, history: ArrayLike<number>, options: PenaltyOptions): Float32Array {
  const { repeatPenalty, repeatLastN, frequencyPenalty, presencePenalty } = options;
  if (repeatLastN === 0 || (repeatPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0)) return logits;
  const counts = new Map<number, number>();
  for (let i = repeatLastN < 0 ? 0 : Math.max(0, history.length - repeatLastN); i < history.length; i++) {
    const id = history[i]!;
    if (!(id >= 0 && id < logits.length)) throw new SamplingError(`sample: expected history ids in 0 … ${logits.length - 1}, got ${id}`);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  if (counts.size === 0) return logits;
  const out = logits.slice();
  for (const [id, count] of counts) {
    const logit = Math.fround(out[id]! <= 0 ? out[id]! * repeatPenalty : out[id]! / repeatPenalty);
    out[id] = logit - (count * frequencyPenalty + presencePenalty);
  }
  return out;
}

/** Keeps the `k` greatest logits, in order; 0 keeps all. */
export function topK(candidates: Candidates, k: number): Candidates {
  return k === 0 ? candidates : largest(candidates, k);
}

/** Keeps the fewest candidates, most likely first, whose probabilities add up to `p` or more, at least one; 1 keeps all. */
export function topP(candidates: Candidates, p: number): Candidates {
  if (p >= 1) return candidates;
  const { logits } = candidates;
  const max = greatestLogit(logits);
  let total = 0;
  for (let i = 0; i < logits.length; i++) total += Math.exp(logits[i]! - max);
  let sum = 0;
  return largestWhile(candidates, (logit) => {
    sum += Math.exp(logit - max) / total;
    return sum < p;
  });
}

/** Keeps candidates with `probability >= p * greatest probability`, i.e. `logit >= greatest logit + ln p`; 0 keeps all. */
export function minP(candidates: Candidates, p: number): Candidates {
  if (p <= 0) return candidates;
  const { ids, logits, sorted } = candidates;
  const limit = Math.fround(greatestLogit(logits) + Math.log(p));
  return { ids: ids.filter((_, i) => logits[i]! >= limit), logits: logits.filter((logit) => logit >= limit), sorted };
}

/**
 * `(logit - greatest logit) / temperature`, temperature > 0. The shift changes no probability and keeps the smallest
 * temperatures from overflowing.
 */
export function applyTemperature(candidates: Candidates, temperature: number): Candidates {
  const max = greatestLogit(candidates.logits);
  const logits = candidates.logits.slice();
  for (let i = 0; i < logits.length; i++) logits[i] = (logits[i]! - max) / temperature;
  return { ...candidates, logits };
}
