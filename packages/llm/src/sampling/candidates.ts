import { check, floatArray, isRecord, kind } from "@centella/quant/checks";
import { SamplingError } from "../errors.ts";

/** Tokens that may come next. Steps of the chain take one list and return another; none changes what it was given. */
export interface Candidates {
  readonly ids: Int32Array;
  /** Logit of the token at the same place of `ids`; finite. */
  readonly logits: Float32Array;
  /** Whether the logits fall from front to back, equal ones with rising ids. */
  readonly sorted: boolean;
}

/**
 * All tokens in the order of their ids. Tokens at minus infinity (masked out) are left out.
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
 * The id with the greatest logit, the lowest of equals.
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
 * The first id with the greatest logit of a vocabulary, if it can be chosen.
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

/** The greatest of at least one finite logit. */
export function greatestLogit(logits: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; i++) if (logits[i]! > max) max = logits[i]!;
  return max;
}

/**
 * The candidate under `uniform` in [0, 1): the first one at which the running sum of probabilities exceeds it.
 */
export function pick(candidates: Candidates, uniform: number): number {
  const weights = probabilities(candidates);
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    sum += weights[i]!;
    if (uniform < sum) return candidates.ids[i]!;
  }
  // Rounding can leave the whole sum just below `uniform`.
  return candidates.ids[candidates.ids.length - 1]!;
}

function badLogit(id: number, logit: number): SamplingError {
  return new SamplingError(`sample: expected finite logits (or -Infinity for excluded tokens), got ${logit} for token ${id}`);
}

function noTokenLeft(vocabulary: number): SamplingError {
  return new SamplingError(
    `sample: expected at least one token with a finite logit, got none of ${vocabulary}; loosen the constraint on the output`,
  );
}
