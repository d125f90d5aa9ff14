/** How a model that fills in masked tokens generates. */
export interface DiffusionOptions {
  /** Number of times that the whole text is computed, at most. Default: the number of tokens, which gives the best texts. */
  readonly steps?: number | undefined;
  /**
   * Number of tokens that are filled in before those after them, each block in an equal share of the steps. Default 32, unless `epsilon` is
   * given.
   */
  readonly blockLength?: number | undefined;
  /**
   * Fills in tokens of the whole text at once, by times that fall evenly from 1 to this one (`eps` in llama.cpp, often 0.001): of the tokens
   * that are masked at a time `t`, those from `t` to the next time. The last step fills in the rest.
   */
  readonly epsilon?: number | undefined;
  /**
   * The tokens that a step fills in: those that are most likely ("confidence", the default), whose distributions have the lowest entropy,
   * whose likeliest token has the greatest margin over the second, or random ones.
   */
  readonly order?: "confidence" | "entropy" | "margin" | "random" | undefined;
}
