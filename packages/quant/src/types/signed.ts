/** The byte `b` as a signed 8-bit integer. */
export function signed(b: number): number {
  return (b << 24) >> 24;
}
