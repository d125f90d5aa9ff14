import { halfAt, wordAt } from "../floats/half.ts";
import { evenSigns, iq3XxsGrid, writeSigned } from "./grids.ts";

/**
 * iq3_xxs, 256 weights in 98 bytes: `d` f16 | `qs` 64 bytes | `signsAndScales` 8 × u32. Each byte of `qs` is the index of a point of 4.
 * Each 32 weights have a 32-bit number as in iq2_xxs: `w = d * (scale + 1/2) / 2 * sign * point`. Source: `block_iq3_xxs` of
 * ggml-common.h.
 */
export function dequantizeIq3Xxs(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq3XxsGrid();
  for (let at = 0, to = 0; at < bytes.length; at += 98, to += 256) {
    for (let group = 0; group < 8; group++) {
      const packed = wordAt(bytes, at + 66 + group * 4);
      const scale = iq3XxsStep(bytes, at, 2 * group);
      for (let part = 0; part < 8; part++) {
        const signs = evenSigns((packed >>> (7 * (part >> 1))) & 127) >> (4 * (part & 1));
        writeSigned(grid, bytes[at + 2 + group * 8 + part]! * 4, 4, signs, scale, out, to + group * 32 + part * 4);
      }
    }
  }
}

/** The step of run `run` of 16 weights of the block at `at`. */
export function iq3XxsStep(bytes: Uint8Array, at: number, run: number): number {
  return (halfAt(bytes, at) * (0.5 + (bytes[at + 69 + 4 * (run >> 1)]! >> 4))) / 2;
}
