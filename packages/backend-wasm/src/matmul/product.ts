import type { Stage } from "../kernel.ts";

/** A matrix product in memory: row-major `a [m, k]` and `y [m, n]`, both f32. The layout of `b` depends on the path. */
export interface Product {
  readonly a: number;
  readonly b: number;
  readonly y: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Memory for packed panels, of the size that the path's `scratch` returns. */
  readonly scratch: number;
}

/** A way to multiply, chosen by the layout of `b` and the parameters. */
export interface Path {
  /** The function that multiplies rows of `b` with one token: see `indexed.ts`. */
  readonly single: string;
  /** Bytes of one matrix `b`. */
  readonly matrixBytes: (n: number, k: number) => number;
  readonly multiply: (product: Product) => Iterable<Stage>;
  readonly scratch: (m: number, n: number, k: number) => number;
}

/** Multiply-adds between two pauses: a few milliseconds on a slow machine before the code is optimised. */
const pauseEvery = 2e7;

/** Rows from which packing `b` costs less than streaming it once per row. */
export const minPackedRows = 4;

/** Maximum calls per thread and product: enough for the threads to finish together. */
const callsPerThread = 12;

/** Multiply-adds per call if every thread has several, and the minimum for a call to pay off. */
const [usualWork, leastWork] = [3e5, 1e5];

/** Units per call of a product of `total` multiply-adds: calls are equal, and each thread gets the same number. */
export function sharedUnits(work: number, total: number, threads: number): number {
  const each = Math.max(1, Math.min(callsPerThread, Math.floor(total / (threads * usualWork))));
  const calls = threads === 1 ? 1 : Math.max(1, Math.min(threads * each, Math.floor(total / leastWork)));
  const unit = Math.max(1, work);
  return Math.max(1, Math.min(Math.floor(pauseEvery / unit), Math.ceil(total / calls / unit)));
}
