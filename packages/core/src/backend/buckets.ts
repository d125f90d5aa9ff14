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

/** The largest value of each dim that a program declares. */
export function largestDims({ dims }: ProgramGraph): DimValues {
  return Object.fromEntries([...dims].map(([name, { max }]) => [name, max]));
}

/** A key of the values of the dims that a program declares. Made in every run. */
export function dimsKey({ dims }: ProgramGraph, values: DimValues): string {
  let key = "";
  for (const name of dims.keys()) key += `${values[name]} `;
  return key;
}

/** A key of a plan's variant: the bucket of each dim, and the names of the inputs that are on the device before the run. */
export function variantKey(bucket: DimValues, onDevice: ReadonlySet<string>): string {
  return JSON.stringify([bucket, [...onDevice].sort()]);
}
