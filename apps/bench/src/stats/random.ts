/** A seed from a text: FNV-1a. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Numbers in [0, 1), the same everywhere for the same seed: mulberry32. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` seeded f32 values in [-1, 1): zeros and constants run faster than real data. */
export function uniform(seed: number, count: number): Float32Array<ArrayBuffer> {
  const values = new Float32Array(count);
  let state = seed | 1;
  for (let i = 0; i < count; i++) {
    // xorshift32, inlined: suites fill tens of millions of elements.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[i] = state / 2 ** 31;
  }
  return values;
}

/** `count` seeded bytes. */
export function randomBytes(seed: number, count: number): Uint8Array<ArrayBuffer> {
  const words = new Int32Array(Math.ceil(count / 4));
  let state = seed | 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, count);
}
