import type { U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../../ptx/builder.ts";

/**
 * Operands of {@link multiplyPanels} are matrices of halves in panels of 64 places of the depth: [panel][row][64]. Rows are a multiple of 8.
 * Piece c of 8 halves of row r is at place `c ^ (r % 8)` of the row. So any rows of a panel, from a multiple of 8 on, are one bulk copy whose image in
 * shared memory is what products of warpgroups read.
 */
export const panelDepth = 64;

/** Bytes of a row of a panel. */
export const panelRowBytes: number = 2 * panelDepth;

/** Rows of activations of a tile. */
export const tileRows = 128;

/** Rows of activations' panels: those of a run and rows of zeros after them, to whole tiles. Texts do not depend on the most rows of a run. */
export function wholeTiles(k: PtxBuilder, rows: U32, perTile: number = tileRows): U32 {
  return k.and(k.add(rows, perTile - 1), -perTile >>> 0);
}

export function panelBytes(rows: number, panels: number): number {
  return panels * rows * panelRowBytes;
}

export function panelsOf(depth: number): number {
  return Math.ceil(depth / panelDepth);
}

/** Byte of a row of a panel at which piece `piece`, 0 to 7, starts. */
export function pieceOffset(k: PtxBuilder, row: U32, piece: U32): U32 {
  return k.shiftLeft(k.swizzledPiece(row, piece), 4);
}

/**
 * Row of a panel, among 16, of a weight's row g below 8; that of row g + 8 is four further. A lane's sums of two neighbouring groups of eight columns
 * are those of places 2t and 2t + 1 of each. In this order they are sums of columns 4t to 4t + 3, which it stores at once.
 */
export function columnPlace(k: PtxBuilder, row: U32): U32 {
  const group = k.shiftLeft(k.and(k.shiftRight(row, 1), 1), 3);
  const pair = k.shiftLeft(k.shiftRight(row, 2), 1);
  return k.or(group, k.or(pair, k.and(row, 1)));
}
