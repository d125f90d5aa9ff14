import type { Candidates } from "./candidates.ts";
import { dryPenalties } from "./dry.ts";
import { mirostat } from "./mirostat.ts";
import type { ResolvedSampling } from "./options.ts";
import { SamplingChain, type SamplingPlace } from "./samplingChain.ts";

const algorithms = { dryPenalties, mirostat };

/** Samples the tokens of one text, one after another. Mirostat adapts from token to token. */
export class Sampler {
  readonly #chain: SamplingChain;

  constructor(options: ResolvedSampling) {
    this.#chain = new SamplingChain(options, algorithms);
  }

  /** Whether every token is the one with the greatest logit, so that no other logit has to be read. */
  get isGreedy(): boolean {
    return this.#chain.isGreedy;
  }

  /**
   * Samples the next token. Samplers with equal options that get equal arguments in the same order sample equal tokens.
   * @throws {SamplingError} as {@link sampleCandidates}
   */
  sample(logits: Float32Array, place: SamplingPlace): number {
    return this.#chain.sample(logits, place);
  }
}

/**
 * The tokens that may come next: after logit biases and the steps in their order. With temperature 0 that is the most likely token. With
 * Mirostat, they are the tokens that Mirostat chooses from.
 * @throws {SamplingError} if logits are not finite, if no token is left, or if an id of the history or of a bias is outside the logits
 */
export function sampleCandidates(
  logits: Float32Array,
  history: ArrayLike<number>,
  options: ResolvedSampling,
  position: number = history?.length,
): Candidates {
  return new SamplingChain(options, algorithms).candidates(logits, history, position);
}

/**
 * Samples the next token. Equal arguments always give the same token.
 * @throws {SamplingError} as {@link sampleCandidates}
 */
export function sampleToken(logits: Float32Array, options: ResolvedSampling, place: SamplingPlace): number {
  return new SamplingChain(options, algorithms).sample(logits, place);
}
