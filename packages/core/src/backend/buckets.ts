import type { ProgramGraph } from "../program/programGraph.ts";
import type { DimValues } from "../spec.ts";

/**
 * The largest extent that a variant serves which serves `value`: 0, or the next power of two, at most `max`. Nothing is computed and read
 * back for an extent of 0, so it shares no variant with others.
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
