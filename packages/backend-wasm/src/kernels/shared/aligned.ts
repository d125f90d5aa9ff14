/** Rounds up to whole cache lines, so that threads do not write to the lines of adjacent scratch memory. */
export function aligned(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}
