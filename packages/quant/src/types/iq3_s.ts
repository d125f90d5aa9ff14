import { halfAt } from "../floats/half.ts";
import { iq3SGrid, writeSigned } from "./grids.ts";

/**
 * iq3_s, 256 weights in 110 bytes: `d` f16 | `qs` 64 bytes | `qh` 8 bytes | `signs` 32 bytes | `scales` 4 bytes. Each 4 weights have a
 * byte of `qs`, a bit of `qh` above it, and a nibble of signs; a nibble of `scales` is shared by 32 weights:
 * `w = d * (2 * scale + 1) * sign * point`. Source: `block_iq3_s` of ggml-common.h.
 */
export function dequantizeIq3S(bytes: Uint8Array, out: Float32Array): void {
  const grid = iq3SGrid();
  for (let at = 0, to = 0; at < bytes.length; at += 110, to += 256) {
    for (let part = 0; part < 64; part++) {
      const high = (bytes[at + 66 + (part >> 3)]! >> (part & 7)) & 1;
      const signs = bytes[at + 74 + (part >> 1)]! >> (4 * (part & 1));
      writeSigned(grid, (bytes[at + 2 + part]! | (high << 8)) * 4, 4, signs, iq3SStep(bytes, at, part >> 2), out, to + part * 4);
    }
  }
}

/** The step of run `run` of 16 weights of the block at `at`. */
export function iq3SStep(bytes: Uint8Array, at: number, run: number): number {
  const nibble = (bytes[at + 106 + (run >> 2)]! >> (4 * ((run >> 1) & 1))) & 15;
  return halfAt(bytes, at) * (2 * nibble + 1);
}
