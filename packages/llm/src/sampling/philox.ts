/** Four 32-bit words. */
export type Words4 = readonly [number, number, number, number];

/**
 * Philox4x32-10, a counter-based random generator: ten rounds turn (counter, key) into four random words, with no state between
 * calls. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); the same words as Random123's.
 */
export function philox4x32(counter: Words4, key: readonly [number, number]): Words4 {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0);
    const low0 = Math.imul(0xd2511f53, c0);
    const high1 = multiplyHigh(0xcd9e8d57, c2);
    const low1 = Math.imul(0xcd9e8d57, c2);
    [c0, c1, c2, c3] = [high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0];
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

/**
 * A number in [0, 1) with 53 random bits that depends on the seed and the position only, so any step of a run can be repeated on its
 * own: Philox with the seed's two halves as key and the position's as counter. Streams of one position are independent of each other.
 */
export function uniformAt(seed: number, position: number, stream: number = 0): number {
  const [a, b] = philox4x32([position >>> 0, Math.floor(position / 2 ** 32), stream, 0], [seed >>> 0, Math.floor(seed / 2 ** 32)]);
  return ((a >>> 5) * 2 ** 26 + (b >>> 6)) / 2 ** 53;
}

/** Upper 32 bits of the 64-bit product of two unsigned words. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const cross = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(cross / 0x10000)) | 0;
}
