import type { Target } from "../target.ts";

/**
 * Products whose second operand runs along n in memory (`a [m, k] · b [k, n]`), as sums of outer products.
 *
 * One order of accumulation for every path: within each {@link depth} of k one sum in the order of k; these sums added in the
 * order of k to a total that starts at 0.
 */
export const outer = {
  /** Elements of k per block. */
  depth: 512,
  /** Columns of a register tile, two vectors. */
  tileColumns: 8,
} as const;

/** Rows of a register tile: 15 registers hold 12 sums and 3 operands, or without fused multiply-add 8, 3 and a product. */
export function outerTileRows(target: Target): number {
  return target.relaxed ? 6 : 4;
}

/** Bytes of a register tile in memory. */
export const tileBytes: number = 4 * 6 * outer.tileColumns;

/** Panels that a product of one row reads at once, to hide the latency of the multiply-add. */
export const rowPanels = 4;

/** Bytes of a matrix `[k, n]` in panels of {@link outer.tileColumns} columns, one after the other, each over all of k. */
export function packedBytes(n: number, k: number): number {
  return Math.ceil(n / outer.tileColumns) * outer.tileColumns * k * 4;
}
