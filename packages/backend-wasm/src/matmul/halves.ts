import { inner } from "./inner.ts";

/** Sizes of products with f16 or bf16 weights. The plan knows them before it is known whether a model has such weights. */

/** Elements of k per block. */
export const halvesDepth: number = 1024;

/** Bytes of a packed panel of weights. */
export const halvesPanelBytes: number = 4 * halvesDepth * inner.tileColumns;

/** Elements that are split together. */
export const splitWidth = 8;

/** Rows of weights that are multiplied together: as many streams as processors prefetch well. */
export const halfRows = 4;

/** Elements of a split row. */
export function splitLength(k: number): number {
  return Math.ceil(k / splitWidth) * splitWidth;
}
