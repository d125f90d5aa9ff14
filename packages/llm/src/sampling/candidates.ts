import { chosenSum, weightOf } from "@centella/core/backend";
import { check, elementAt, floatArray, isRecord, kind } from "@centella/quant/checks";
import { SamplingError } from "../errors.ts";

/** Tokens that may come next. A step of the chain takes one list and returns another, and never changes its input. */
export interface Candidates {
  readonly ids: Int32Array;
  /** Logit of the token at the same index of `ids`. Finite. */
  readonly logits: Float32Array;
  /** Whether the logits are in descending order, and tokens with equal logits in the order of their ids. */
  readonly sorted: boolean;
}

/**
 * All tokens in the order of their ids, without those whose logit is minus infinity (masked tokens).
 * @throws {SamplingError} if a logit is NaN or plus infinity, or no token is left
 */
export function candidatesOf(logits: Float32Array): Candidates {
  check("candidatesOf", "logits", logits, floatArray);
  const ids = new Int32Array(logits.length);
  const kept = new Float32Array(logits.length);
  let count = 0;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (logit === Number.NEGATIVE_INFINITY) continue;
    if (!Number.isFinite(logit)) throw badLogit(id, logit);
    ids[count] = id;
    kept[count++] = logit;
  }
  if (count === 0) throw noTokenLeft(logits.length);
  return { ids: ids.subarray(0, count), logits: kept.subarray(0, count), sorted: false };
}

/**
 * The id with the greatest logit; the lowest id of equals.
 * @throws {SamplingError} as {@link candidatesOf}
 */
export function argmax(logits: Float32Array): number {
  let best = 0;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (Number.isNaN(logit)) throw badLogit(id, logit);
    if (logit > greatest) {
      best = id;
      greatest = logit;
    }
  }
  if (greatest === Number.NEGATIVE_INFINITY) throw noTokenLeft(logits.length);
  if (greatest === Number.POSITIVE_INFINITY) throw badLogit(best, greatest);
  return best;
}

const candidatesKind = kind("candidates { ids, logits, sorted }", (value) => isRecord(value) && floatArray.accepts(value.logits));

/** Probabilities `exp(logit - max) / sum`, in the list's order. */
export function probabilities(candidates: Candidates): Float64Array {
  const { logits } = check("probabilities", "candidates", candidates, candidatesKind);
  const max = greatestLogit(logits);
  const out = new Float64Array(logits.length);
  let sum = 0;
  for (let i = 0; i < out.length; i++) {
    const weight = Math.exp(logits[i]! - max);
    out[i] = weight;
    sum += weight;
  }
  return out.map((weight) => weight / sum);
}

/** The logarithm of the sum of `exp(logit)`: subtracted from a logit, it gives the logarithm of a probability. */
export function logSumExp(logits: Float32Array): number {
  const max = greatestLogit(logits);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - max);
  return max + Math.log(sum);
}

/** Sets the logits of the tokens to minus infinity that `allowed` has no bit for. */
export function exclude(logits: Float32Array, allowed: Uint32Array): void {
  for (let id = 0; id < logits.length; id++) {
    const word = allowed[id >> 5] ?? 0;
    if (((word >>> (id & 31)) & 1) === 0) logits[id] = Number.NEGATIVE_INFINITY;
  }
}

/** The greatest logit. There must be at least one, and all must be finite. */
export function greatestLogit(logits: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > max) max = logit;
  return max;
}

/**
 * Weights of the candidates, as whole numbers: sums are exact in any order, and equal those of core's `sample`, which chooses tokens on
 * devices.
 */
export function weightsOf({ logits }: Candidates): Float64Array {
  const max = greatestLogit(logits);
  const weights = new Float64Array(logits.length);
  logits.forEach((logit, i) => {
    weights[i] = weightOf(Math.fround(max - logit));
  });
  return weights;
}

/** Sum of weights. */
export function totalOf(weights: Float64Array): number {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
}

function orderedById({ ids, logits }: Candidates): Candidates {
  const order = Array.from(ids, (id, i) => ({ id, logit: elementAt(logits, i) })).sort((a, b) => a.id - b.id);
  return { ids: Int32Array.from(order, ({ id }) => id), logits: Float32Array.from(order, ({ logit }) => logit), sorted: false };
}

/** Samples a candidate by a random u32: in the order of the ids, the first one for which the running sum of weights exceeds its share. */
export function pick(candidates: Candidates, random: number): number {
  const { ids, logits } = candidates.sorted ? orderedById(candidates) : candidates;
  const weights = weightsOf({ ids, logits, sorted: false });
  const limit = chosenSum(totalOf(weights), random);
  let sum = 0;
  const place = weights.findIndex((weight) => {
    sum += weight;
    return sum > limit;
  });
  // The greatest weight is above 0, so the sum of all exceeds each share of it.
  return elementAt(ids, place);
}

function badLogit(id: number, logit: number): SamplingError {
  return new SamplingError(`sample: expected finite logits (or -Infinity for excluded tokens), got ${logit} for token ${id}`);
}

function noTokenLeft(vocabulary: number): SamplingError {
  return new SamplingError(
    `sample: expected at least one token with a finite logit, got none of ${vocabulary}; loosen the constraint on the output`,
  );
}
