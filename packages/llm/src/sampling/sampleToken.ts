import { checkValue } from "@centella/quant/checks";
import type { Candidates } from "./candidates.ts";
import { Chain, chainCandidates, type SamplingPlace } from "./chain.ts";
import { type ResolvedSampling, resolvedSampling } from "./options.ts";
import * as rare from "./rare.ts";

/** Chooses the tokens of one text, one after another: what Mirostat has learned lasts from token to token. */
export class Sampler extends Chain {
  constructor(options: ResolvedSampling) {
    super(options, rare);
  }
}

/**
 * The tokens that may come next: after logit biases and the steps in their order; temperature 0 leaves the most likely one. With
 * Mirostat on, before its own choice.
 * @throws {SamplingError} if logits are not finite or none is left, or an id of the history or of a bias is outside the logits
 */
export function sampleCandidates(
  logits: Float32Array,
  history: ArrayLike<number>,
  options: ResolvedSampling,
  position: number = history?.length,
): Candidates {
  checkValue("sampling", options, resolvedSampling);
  return chainCandidates(logits, history, options, rare, position);
}

/**
 * Chooses the next token. The same arguments always give the same token.
 * @throws {SamplingError} as {@link sampleCandidates}
 */
export function sampleToken(logits: Float32Array, options: ResolvedSampling, place: SamplingPlace): number {
  return new Sampler(options).sample(logits, place);
}
