import type { U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../../ptx/builder.ts";
import { halfRowBytes, rowHalves } from "../../../weights/halfRows.ts";

/**
 * Operands of {@link multiplyPanels} are matrices of halves in panels of 64 places of the depth: [panel][row][64]. Rows are a multiple of 8, and have
 * the form of {@link rowHalves}. So any rows of a panel, from a multiple of 8 on, are one bulk copy whose image in shared memory is what products of
 * warpgroups read. Weights of f16 and bf16 need no panels: their units are 16 rows of a panel each.
 */
export const panelDepth: number = rowHalves;

/** Bytes of a row of a panel. */
export const panelRowBytes: number = halfRowBytes;

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
