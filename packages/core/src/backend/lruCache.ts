/** Map that knows which of its entries was used least recently. The owner decides when one has to go. */
export class LruCache<V> {
  /** Least recently used first. */
  readonly #entries = new Map<string, V>();

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value of `key` and marks it as the most recently used. */
  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Adds a value as the most recently used. */
  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }

  /** Removes and returns the value that was used least recently. */
  evict(): V | undefined {
    for (const [key, value] of this.#entries) {
      this.#entries.delete(key);
      return value;
    }
    return undefined;
  }

  values(): Iterable<V> {
    return this.#entries.values();
  }

  clear(): void {
    this.#entries.clear();
  }
}
