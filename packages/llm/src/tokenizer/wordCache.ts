const maxWords = 65_536;
/** Longer words seldom come again. */
const maxLength = 64;

/** Ids of words seen before. Starts afresh when full, which keeps it bounded without bookkeeping per look-up. */
export class WordCache {
  readonly #words = new Map<string, readonly number[]>();

  get(word: string): readonly number[] | undefined {
    return this.#words.get(word);
  }

  /** Returns `ids`. */
  set(word: string, ids: readonly number[]): readonly number[] {
    if (word.length > maxLength) return ids;
    if (this.#words.size >= maxWords) this.#words.clear();
    this.#words.set(word, ids);
    return ids;
  }
}
