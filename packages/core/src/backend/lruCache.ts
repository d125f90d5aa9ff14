/** Map of at most `maxEntries`, which evicts the least recently used one. */
export class LruCache<V> {
  readonly #maxEntries: number;
  /** Least recently used first. */
  readonly #entries = new Map<string, V>();
  /** Key that was used last. Runs mostly repeat it. */
  #newest: string | undefined;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value of `key` and marks it as the most recently used. */
  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && key !== this.#newest) this.set(key, value);
    return value;
  }

  /** Adds a value as the most recently used. Returns the value that is evicted for it. */
  set(key: string, value: V): V | undefined {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    return this.size > this.#maxEntries ? this.evict() : undefined;
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
