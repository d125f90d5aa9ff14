/**
 * Reads the parts of a text one ahead: the next token is computed while the reader writes the one before. A reader that asks for no more
 * stops the text after that.
 */
export class ReadAhead<Part> implements AsyncIterableIterator<Part, void, undefined> {
  readonly #parts: AsyncGenerator<Part, void, undefined>;
  readonly #note: (part: Part) => boolean;
  #next: Promise<IteratorResult<Part, void>> | undefined;

  /**
   * @param note called with each part before the next one is computed. Returns false if the next one is to be computed when the reader asks
   * for it. If it throws, the text ends with the error.
   */
  constructor(parts: AsyncGenerator<Part, void, undefined>, note: (part: Part) => boolean) {
    this.#parts = parts;
    this.#note = note;
  }

  async next(): Promise<IteratorResult<Part, void>> {
    const result = await (this.#next ?? this.#parts.next());
    this.#next = undefined;
    if (result.done) return result;
    try {
      if (this.#note(result.value)) this.#next = this.#parts.next();
    } catch (error) {
      await this.#parts.return();
      throw error;
    }
    // The reader has the error when it asks for this part.
    this.#next?.catch(() => undefined);
    return result;
  }

  async return(): Promise<IteratorResult<Part, void>> {
    return this.#parts.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
