import { halfAt, wordAt } from "../floats/half.ts";
import { evenSigns, iq2XxsGrid, writeSigned } from "./grids.ts";

/**
 * iq2_xxs, 256 weights in 66 bytes: `d` f16 | `qs` 8 × 8 bytes. Each 32 weights have four bytes of indices of points of 8, then a
 * 32-bit number: four times 7 bits of signs and, on top, a 4-bit scale: `w = d * (scale + 1/2) / 4 * sign * point`. Source:
 * `block_iq2_xxs` of ggml-common.h.
 */
export function dequantizeIq2Xxs(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq2XxsGrid();
  for (let at = 0, to = 0; at < bytes.length; at += 66, to += 256) {
    for (let group = 0; group < 8; group++) {
      const qs = at + 2 + group * 8;
      const packed = wordAt(bytes, qs + 4);
      const scale = iq2XxsStep(bytes, at, 2 * group);
      for (let part = 0; part < 4; part++) {
        const signs = evenSigns((packed >>> (7 * part)) & 127);
        writeSigned(grid, bytes[qs + part]! * 8, 8, signs, scale, out, to + group * 32 + part * 8);
      }
    }
  }
}

/** Step of run `run` of 16 weights of the block at `at`. Each weight is a signed point times the step. */
export function iq2XxsStep(bytes: Uint8Array, at: number, run: number): number {
  return (halfAt(bytes, at) * (0.5 + (bytes[at + 9 + 8 * (run >> 1)]! >> 4))) / 4;
}
