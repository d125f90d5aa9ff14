import { halfToFloat, halfWordAt } from "../floats/half.ts";
import { iq1Grid, writeShifted } from "./grids.ts";
import { iq1Shift } from "./iq1_s.ts";

/**
 * iq1_m, 256 weights in 56 bytes: `qs` 32 bytes | `qh` 16 bytes | `scales` 4 × u16. Each 8 weights have a byte of `qs` and a nibble of
 * `qh`: three bits of the index above it and the sign of the shift. The u16 of each 64 weights holds four 3-bit scales, one per 16, and
 * on top a nibble of the f16 `d`, the lowest first: `w = d * (2 * scale + 1) * (point ± 1/8)`. Source: `block_iq1_m` of ggml-common.h.
 */
export function dequantizeIq1M(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq1Grid();
  for (let at = 0, to = 0; at < bytes.length; at += 56, to += 256) {
    for (let part = 0; part < 32; part++) {
      const qh = bytes[at + 32 + (part >> 1)]! >> (4 * (part & 1));
      const point = (bytes[at + part]! | ((qh & 7) << 8)) * 8;
      const scale = 8 * iq1MStep(bytes, at, part >> 1);
      const shift = qh & 8 ? -iq1Shift : iq1Shift;
      writeShifted(grid, point, shift, scale, out, to + part * 8);
    }
  }
}

/** The step of run `run` of 16 weights of the block at `at`, as in iq1_s. */
export function iq1MStep(bytes: Uint8Array, at: number, run: number): number {
  let half = 0;
  for (let k = 0; k < 4; k++) half |= (bytes[at + 49 + 2 * k]! >> 4) << (4 * k);
  const scales = halfWordAt(bytes, at + 48 + 2 * (run >> 2));
  return halfToFloat(half) * (2 * ((scales >> (3 * (run & 3))) & 7) + 1) * iq1Shift;
}
