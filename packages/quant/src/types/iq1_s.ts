import { halfAt, halfWordAt } from "../floats/half.ts";
import { iq1Grid, writeShifted } from "./grids.ts";

/** How far the ternary levels of iq1_s and iq1_m are shifted. Source: `IQ1S_DELTA` of ggml-common.h. */
export const iq1Shift = 0.125;

/**
 * iq1_s, 256 weights in 50 bytes: `d` f16 | `qs` 32 bytes | `qh` 8 × u16. Each 8 weights have a byte of `qs` and three bits above it in
 * the `qh` of their 32, which on top has a 3-bit scale and the sign of the shift: `w = d * (2 * scale + 1) * (point ± 1/8)`. Source:
 * `block_iq1_s` of ggml-common.h.
 */
export function dequantizeIq1S(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq1Grid();
  for (let at = 0, to = 0; at < bytes.length; at += 50, to += 256) {
    for (let part = 0; part < 32; part++) {
      const qh = halfWordAt(bytes, at + 34 + 2 * (part >> 2));
      const point = (bytes[at + 2 + part]! | (((qh >> (3 * (part & 3))) & 7) << 8)) * 8;
      const scale = 8 * iq1SStep(bytes, at, part >> 1);
      const shift = qh & 0x8000 ? -iq1Shift : iq1Shift;
      writeShifted(grid, point, shift, scale, out, to + part * 8);
    }
  }
}

/** The step of run `run` of 16 weights of the block at `at`: they are -9, -7, -1, 1, 7 or 9 times it. */
export function iq1SStep(bytes: Uint8Array, at: number, run: number): number {
  const scale = (bytes[at + 35 + 2 * (run >> 1)]! >> 4) & 7;
  return halfAt(bytes, at) * (2 * scale + 1) * iq1Shift;
}
