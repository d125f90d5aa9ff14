const maxWords = 65_536;
/** Maximum length of a cached word. Longer words rarely occur again. */
const maxLength = 64;

/** Ids of words that were encoded before. The cache is cleared when it is full, which needs no bookkeeping per look-up. */
export class WordCache {
  readonly #words = new Map<string, readonly number[]>();

  get(word: string): readonly number[] | undefined {
    return this.#words.get(word);
  }

  /** Adds a word and returns `ids`. */
  set(word: string, ids: readonly number[]): readonly number[] {
    if (word.length > maxLength) return ids;
    if (this.#words.size >= maxWords) this.#words.clear();
    this.#words.set(word, ids);
    return ids;
  }
}
