/** Four 32-bit words. */
export type Words = readonly [number, number, number, number];

/**
 * Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Each number is
 * computed independently of those before it, so every backend gives the same numbers in any order.
 */
export function philox4x32([c0, c1, c2, c3]: Words, [k0, k1]: readonly [number, number]): Words {
  for (let round = 0; round < 10; round++) {
    const next: Words = [
      (multiplyHigh(0xcd9e8d57, c2) ^ c1 ^ k0) >>> 0,
      Math.imul(0xcd9e8d57, c2) >>> 0,
      (multiplyHigh(0xd2511f53, c0) ^ c3 ^ k1) >>> 0,
      Math.imul(0xd2511f53, c0) >>> 0,
    ];
    [c0, c1, c2, c3] = next;
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/**
 * Number in [0, 1) with 53 random bits that depends only on seed, position and stream, so any step of a run can be repeated on its own.
 * It comes from Philox with the seed's two halves as the key and the position's two halves as the counter. Streams of one position are
 * independent of each other.
 */
export function uniformAt(seed: number, position: number, stream: number = 0): number {
  const [a, b] = philox4x32([position >>> 0, Math.floor(position / 2 ** 32), stream, 0], [seed >>> 0, Math.floor(seed / 2 ** 32)]);
  return ((a >>> 5) * 2 ** 26 + (b >>> 6)) / 2 ** 53;
}

/** High word of the product of two u32. */
export function multiplyHigh(a: number, b: number): number {
  const [aLow, aHigh, bLow, bHigh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const first = aHigh * bLow + ((aLow * bLow) >>> 16);
  const second = aLow * bHigh + (first % 0x10000);
  return aHigh * bHigh + Math.floor(first / 0x10000) + Math.floor(second / 0x10000);
}
