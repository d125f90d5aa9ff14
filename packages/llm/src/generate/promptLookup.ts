import type { Drafter } from "./drafter.ts";

/** Longest and shortest end of the text to search for. Shorter ends repeat by chance. */
const longestMatch = 4;
const shortestMatch = 2;

const firstDraft = 4;

/**
 * Drafts tokens from the text itself (Saxena, "Prompt lookup decoding", 2023): if the last tokens occurred before, the tokens that
 * followed them may follow again. Drafts grow while they are accepted and shrink when tokens are rejected.
 */
export class PromptLookup implements Drafter {
  readonly #maxLength: number;
  #length: number;

  /** @param maxLength maximum number of tokens in a draft */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
    this.#length = Math.min(firstDraft, maxLength);
  }

  draft(history: readonly number[], room: number): readonly number[] {
    const count = Math.min(this.#length, room);
    const end = history.length;
    let [best, bestMatch] = [-1, shortestMatch - 1];
    // The latest of the longest matches.
    for (let at = end - 1; at > 0 && bestMatch < longestMatch; at--) {
      let match = 0;
      while (match < longestMatch && match < at && history[at - 1 - match] === history[end - 1 - match]) match++;
      if (match > bestMatch) [best, bestMatch] = [at, match];
    }
    return best < 0 ? [] : history.slice(best, best + count);
  }

  adapt(drafted: number, accepted: number): void {
    this.#length = Math.min(this.#maxLength, accepted === drafted ? 2 * drafted : accepted + 1);
  }
}
