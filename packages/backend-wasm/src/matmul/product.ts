/** One matrix product in memory: `a [m, k]` f32 with rows side by side, `y [m, n]` f32. How `b` lies depends on the path. */
export interface Product {
  readonly a: number;
  readonly b: number;
  readonly y: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Room for packed panels, as much as the path's `…Scratch` tells. */
  readonly scratch: number;
}

/** Multiply-adds between two pauses: a few milliseconds on a slow machine before the engine has optimised the code. */
const pauseEvery = 2e7;

/** Rows below which `b` is streamed once per row: packing it would cost more. */
export const fewRows = 4;

/** Calls per thread that a product is cut into, about: enough for the threads to end together. */
const callsPerThread = 12;

/** Multiply-adds below which a call costs more than it computes. */
const leastWork = 3e5;

/** How many units of so much work go into one call of a product of `total`. */
export function sharedUnits(work: number, total: number, threads: number): number {
  const perCall = threads === 1 ? pauseEvery : Math.min(pauseEvery, Math.max(leastWork, total / (callsPerThread * threads)));
  return Math.max(1, Math.floor(perCall / Math.max(1, work)));
}
