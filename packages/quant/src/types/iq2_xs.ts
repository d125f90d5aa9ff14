import { halfAt, halfWordAt } from "../floats/half.ts";
import { evenSigns, iq2XsGrid, writeSigned } from "./grids.ts";

/**
 * iq2_xs, 256 weights in 74 bytes: `d` f16 | `qs` 32 × u16 | `scales` 8 bytes. Each u16 is 8 weights: 9 bits of index, 7 bits of signs.
 * A nibble of `scales` is shared by 16 weights: `w = d * (scale + 1/2) / 4 * sign * point`. Source: `block_iq2_xs` of ggml-common.h.
 */
export function dequantizeIq2Xs(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq2XsGrid();
  for (let at = 0, to = 0; at < bytes.length; at += 74, to += 256) {
    for (let part = 0; part < 32; part++) {
      const packed = halfWordAt(bytes, at + 2 + 2 * part);
      writeSigned(grid, (packed & 511) * 8, 8, evenSigns(packed >> 9), iq2Step(bytes, at, 66, part >> 1), out, to + part * 8);
    }
  }
}

/** The step of run `run` of 16 weights of an iq2_xs or iq2_s block at `at`, whose nibbles of scales start at byte `scales`. */
export function iq2Step(bytes: Uint8Array, at: number, scales: number, run: number): number {
  const nibble = (bytes[at + scales + (run >> 1)]! >> (4 * (run & 1))) & 15;
  return (halfAt(bytes, at) * (0.5 + nibble)) / 4;
}
