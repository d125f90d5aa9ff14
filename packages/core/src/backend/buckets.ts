import type { ProgramGraph } from "../program/programGraph.ts";
import type { DimValues } from "../spec.ts";

/**
 * The bucket of a dim's value: 0, or the next power of two, at most the dim's `max`. A variant of a plan serves all values of a bucket.
 * Zero has a bucket of its own because nothing is computed or read back for it.
 */
export function bucketOf(max: number, value: number): number {
  if (value === 0) return 0;
  let bucket = 1;
  while (bucket < value) bucket *= 2;
  return Math.min(bucket, max);
}

/** The bucket of each dim that a program declares. Dims that a run does not bind count as 0. */
export function bucketsOf({ dims }: ProgramGraph, values: DimValues): DimValues {
  return Object.fromEntries([...dims].map(([name, { max }]) => [name, bucketOf(max, values[name] ?? 0)]));
}
