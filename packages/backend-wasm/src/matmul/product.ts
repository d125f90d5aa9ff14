import type { Stage } from "../kernel.ts";

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

/** One of the ways to multiply, chosen from the layout of `b` and the parameters. */
export interface Path {
  /** The function that multiplies rows of `b` with one token: see `indexed.ts`. */
  readonly single: string;
  /** Bytes of one matrix `b`. */
  readonly matrixBytes: (n: number, k: number) => number;
  readonly multiply: (product: Product) => Iterable<Stage>;
  readonly scratch: (m: number, n: number, k: number) => number;
}

/** Multiply-adds between two pauses: a few milliseconds on a slow machine before the engine has optimised the code. */
const pauseEvery = 2e7;

/** Rows below which `b` is streamed once per row: packing it would cost more. */
export const fewRows = 4;

/** Calls per thread that a product is cut into at most: enough for the threads to end together. */
const callsPerThread = 12;

/** Multiply-adds of a call where there are several for each thread, and those below which a call costs more than it computes. */
const [usualWork, leastWork] = [3e5, 1e5];

/** How many units of so much work go into one call of a product of `total`: calls are equal, and as many for each thread. */
export function sharedUnits(work: number, total: number, threads: number): number {
  const each = Math.max(1, Math.min(callsPerThread, Math.floor(total / (threads * usualWork))));
  const calls = threads === 1 ? 1 : Math.max(1, Math.min(threads * each, Math.floor(total / leastWork)));
  const unit = Math.max(1, work);
  return Math.max(1, Math.min(Math.floor(pauseEvery / unit), Math.ceil(total / calls / unit)));
}
