/** Binary min-heap of (key, payload) pairs in typed arrays. The order of equal keys is undefined. */
export class KeyHeap {
  size = 0;
  /** Key of the pair that the last `pop` removed. */
  key = 0;
  /** Payload of the pair that the last `pop` removed. */
  payload = 0;
  #keys = new Float64Array(64);
  #payloads = new Int32Array(64);

  clear(): void {
    this.size = 0;
  }

  push(key: number, payload: number): void {
    if (this.size === this.#keys.length) this.#grow();
    const keys = this.#keys;
    const payloads = this.#payloads;
    let i = this.size++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = keys[parent]!;
      if (above <= key) break;
      keys[i] = above;
      payloads[i] = payloads[parent]!;
      i = parent;
    }
    keys[i] = key;
    payloads[i] = payload;
  }

  /** Removes the smallest pair and stores it in `key` and `payload`. Returns false if the heap is empty. */
  pop(): boolean {
    if (this.size === 0) return false;
    const keys = this.#keys;
    const payloads = this.#payloads;
    this.key = keys[0]!;
    this.payload = payloads[0]!;
    const last = --this.size;
    const key = keys[last]!;
    const payload = payloads[last]!;
    let i = 0;
    for (let child = 1; child < last; child = 2 * i + 1) {
      if (child + 1 < last && keys[child + 1]! < keys[child]!) child++;
      const below = keys[child]!;
      if (key <= below) break;
      keys[i] = below;
      payloads[i] = payloads[child]!;
      i = child;
    }
    keys[i] = key;
    payloads[i] = payload;
    return true;
  }

  #grow(): void {
    const keys = new Float64Array(this.#keys.length * 2);
    const payloads = new Int32Array(keys.length);
    keys.set(this.#keys);
    payloads.set(this.#payloads);
    this.#keys = keys;
    this.#payloads = payloads;
  }
}
