/** A trie of byte strings with an id each. */
export class ByteTrie {
  /** The node of the empty string. */
  static readonly root = 0;
  /** The child of `node` at `byte` by `node · 256 + byte`. */
  readonly #children = new Map<number, number>();
  /** Id of the string that ends at a node, or -1. */
  readonly #ids: number[] = [-1];

  /** A later string with the same bytes replaces an earlier one. */
  insert(bytes: Uint8Array, id: number): void {
    let node = ByteTrie.root;
    for (const byte of bytes) {
      const key = node * 256 + byte;
      const child = this.#children.get(key) ?? this.#ids.push(-1) - 1;
      this.#children.set(key, child);
      node = child;
    }
    this.#ids[node] = id;
  }

  /** Calls `found` for each string that `bytes` has from `start` on, the shortest first. */
  forEachPrefix(bytes: Uint8Array, start: number, found: (id: number, end: number) => void): void {
    let node: number | undefined = ByteTrie.root;
    for (let end = start; end < bytes.length; end++) {
      node = this.#children.get(node * 256 + bytes[end]!);
      if (node === undefined) return;
      const id = this.#ids[node]!;
      if (id >= 0) found(id, end + 1);
    }
  }
}
