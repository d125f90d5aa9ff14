/** Bytes up to the next whole cache line, where the next piece of scratch memory starts: threads write to neither's lines. */
export function aligned(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}
