/** Longest and shortest ends of a text that are looked for in it; shorter ones repeat by chance. */
const longestMatch = 4;
const shortestMatch = 2;

const firstDraft = 4;

/**
 * Guesses tokens from the text itself (Saxena, "Prompt lookup decoding", 2023): where its last tokens stood before, what followed them may
 * follow again. Guesses grow while they come true and shrink when they do not.
 */
export class PromptLookup {
  readonly #most: number;
  #length: number;

  /** @param most tokens of a guess */
  constructor(most: number) {
    this.#most = most;
    this.#length = Math.min(firstDraft, most);
  }

  /** What may follow `history`, often nothing. */
  draft(history: readonly number[], room: number): readonly number[] {
    const count = Math.min(this.#length, room);
    const end = history.length;
    let [best, bestMatch] = [-1, shortestMatch - 1];
    // The latest place of the longest match.
    for (let at = end - 1; at > 0 && bestMatch < longestMatch; at--) {
      let match = 0;
      while (match < longestMatch && match < at && history[at - 1 - match] === history[end - 1 - match]) match++;
      if (match > bestMatch) [best, bestMatch] = [at, match];
    }
    return best < 0 ? [] : history.slice(best, best + count);
  }

  /** Tells how much of a guess came true. */
  adapt(drafted: number, accepted: number): void {
    this.#length = Math.min(this.#most, accepted === drafted ? 2 * drafted : accepted + 1);
  }
}
