/** `axis` counted from the front. */
export function normalAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}
