/** What a thread yields while a barrier for copies is not complete. */
export const waitsForCopies = -2;

/** What a thread yields while the cluster's barrier is not complete. */
export const waitsForCluster = -3;

/** What a thread yields at the n-th place where threads of a warpgroup meet. */
export function warpgroupMeeting(n: number): number {
  return -1000 - n;
}

/** What a thread yields at a barrier of `count` threads. */
export function someBarrier(number: number, count: number): number {
  return -1_000_000 - 4096 * number - count;
}
