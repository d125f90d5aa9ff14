import type { Target } from "../target.ts";

/**
 * Products whose second operand has n innermost (`a [m, k] · b [k, n]`), as sums of outer products.
 *
 * All paths accumulate in one order: within each {@link depth} of k one sum in order of k, and these sums in order of k
 * to a total that starts at 0.
 */
export const outer = {
  /** Elements of k per block. */
  depth: 512,
  /** Columns of a register tile: two vectors. */
  tileColumns: 8,
} as const;

/**
 * Rows of a register tile. 15 registers hold 12 sums and 3 operands, or without fused multiply-add 8 sums, 3 operands
 * and a product.
 */
export function outerTileRows(target: Target): number {
  return target.relaxed ? 6 : 4;
}

/** Bytes of a register tile in memory. */
export const tileBytes: number = 4 * 6 * outer.tileColumns;

/** Panels that a product of one row reads together, to hide the latency of multiply-adds. */
export const rowPanels = 4;

/** Bytes of a matrix `[k, n]` in consecutive panels of {@link outer.tileColumns} columns, each over all of k. */
export function packedBytes(n: number, k: number): number {
  return Math.ceil(n / outer.tileColumns) * outer.tileColumns * k * 4;
}
