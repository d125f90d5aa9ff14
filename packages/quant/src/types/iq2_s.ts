import { iq2SGrid, writeSigned } from "./grids.ts";
import { iq2Step } from "./iq2_xs.ts";

/**
 * iq2_s, 256 weights in 82 bytes: `d` f16 | `qs` 32 bytes | `signs` 32 bytes | `qh` 8 bytes | `scales` 8 bytes. Each 8 weights have a
 * byte of `qs`, a bit pair of `qh` above it, and a byte of signs; a nibble of `scales` is shared by 16 weights:
 * `w = d * (scale + 1/2) / 4 * sign * point`. Source: `block_iq2_s` of ggml-common.h.
 */
export function dequantizeIq2S(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq2SGrid();
  for (let at = 0, to = 0; at < bytes.length; at += 82, to += 256) {
    for (let part = 0; part < 32; part++) {
      const high = (bytes[at + 66 + (part >> 2)]! >> (2 * (part & 3))) & 3;
      const point = bytes[at + 2 + part]! | (high << 8);
      writeSigned(grid, point * 8, 8, bytes[at + 34 + part]!, iq2Step(bytes, at, 74, part >> 1), out, to + part * 8);
    }
  }
}
