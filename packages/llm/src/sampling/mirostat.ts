import { elementAt } from "@centella/quant/checks";
import { largest } from "./candidateHeap.ts";
import { type Candidates, pick, probabilities } from "./candidates.ts";

/** Number of candidates from which version 1 estimates how probabilities fall with rank. */
const estimationCount = 100;

/** Parameters of Mirostat (Basu et al., 2021): the target surprise `tau` in bits, and the learning rate `eta`. */
export interface MirostatTarget {
  readonly version: 1 | 2;
  readonly tau: number;
  readonly eta: number;
}

/**
 * Samples a token among those with a surprise of at most `mu` bits, and adapts `mu` by the difference between the token's surprise and the
 * target. `random` is a u32; `vocabulary` is the number of tokens of the model.
 */
export function mirostat(
  candidates: Candidates,
  { version, tau, eta }: MirostatTarget,
  mu: number,
  random: number,
  vocabulary: number,
): { readonly id: number; readonly mu: number } {
  const sorted = largest(candidates, candidates.ids.length);
  const kept = largest(sorted, version === 1 ? zipfCount(sorted, mu, vocabulary) : surpriseCount(sorted, mu));
  const id = pick(kept, random);
  const surprise = -Math.log2(elementAt(probabilities(kept), kept.ids.indexOf(id)));
  return { id, mu: mu - eta * (surprise - tau) };
}

/**
 * Number of tokens that a cross-entropy of `mu` bits allows if probabilities follow Zipf's law. The exponent is fitted to the first
 * candidates.
 */
function zipfCount(sorted: Candidates, mu: number, vocabulary: number): number {
  const chances = probabilities(sorted);
  let [product, square] = [0, 0];
  for (let i = 0; i < Math.min(estimationCount, chances.length) - 1; i++) {
    const t = Math.log((i + 2) / (i + 1));
    product += t * Math.log(elementAt(chances, i) / elementAt(chances, i + 1));
    square += t * t;
  }
  if (square === 0) return 1;
  const exponent = product / square;
  const epsilon = exponent - 1;
  const count = ((epsilon * 2 ** mu) / (1 - vocabulary ** -epsilon)) ** (1 / exponent);
  // A uniform distribution has exponent 0 and so allows all tokens.
  return Number.isNaN(count) ? chances.length : Math.max(1, Math.floor(Math.min(count, chances.length)));
}

/** Number of tokens with a surprise of at most `mu` bits, at least one. */
function surpriseCount(sorted: Candidates, mu: number): number {
  const beyond = probabilities(sorted).findIndex((chance) => -Math.log2(chance) > mu);
  return beyond < 0 ? sorted.ids.length : Math.max(1, beyond);
}
