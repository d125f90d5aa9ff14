import { check, floatArray, isRecord, kind } from "@centella/quant/checks";
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
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (Number.isNaN(logit)) throw badLogit(id, logit);
    if (logit > logits[best]!) best = id;
  }
  return requireChoice(best, logits[best]!, logits.length);
}

/**
 * Returns `id`, the first id with the greatest logit of a vocabulary, if it can be chosen.
 * @throws {SamplingError} as {@link candidatesOf}
 */
export function requireChoice(id: number, logit: number, vocabulary: number): number {
  if (logit === Number.NEGATIVE_INFINITY) throw noTokenLeft(vocabulary);
  if (!Number.isFinite(logit)) throw badLogit(id, logit);
  return id;
}

const candidatesKind = kind("candidates { ids, logits, sorted }", (value) => isRecord(value) && floatArray.accepts(value.logits));

/** Probabilities `exp(logit - max) / sum`, in the list's order. */
export function probabilities(candidates: Candidates): Float64Array {
  const { logits } = check("probabilities", "candidates", candidates, candidatesKind);
  const max = greatestLogit(logits);
  const out = new Float64Array(logits.length);
  let sum = 0;
  for (let i = 0; i < out.length; i++) {
    out[i] = Math.exp(logits[i]! - max);
    sum += out[i]!;
  }
  for (let i = 0; i < out.length; i++) out[i]! /= sum;
  return out;
}

/** The greatest logit. There must be at least one, and all must be finite. */
export function greatestLogit(logits: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (const logit of logits) if (logit > max) max = logit;
  return max;
}

/** Samples a candidate by `uniform` in [0, 1): the first one for which the running sum of probabilities exceeds it. */
export function pick(candidates: Candidates, uniform: number): number {
  let sum = 0;
  const index = probabilities(candidates).findIndex((probability) => {
    sum += probability;
    return uniform < sum;
  });
  // Rounding can leave the sum of all probabilities just below `uniform`.
  return candidates.ids.at(index)!;
}

function badLogit(id: number, logit: number): SamplingError {
  return new SamplingError(`sample: expected finite logits (or -Infinity for excluded tokens), got ${logit} for token ${id}`);
}

function noTokenLeft(vocabulary: number): SamplingError {
  return new SamplingError(
    `sample: expected at least one token with a finite logit, got none of ${vocabulary}; loosen the constraint on the output`,
  );
}
