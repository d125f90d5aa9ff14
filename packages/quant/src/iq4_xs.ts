import { iq4Levels } from "./codebooks.ts";
import { halfAt } from "./half.ts";

/**
 * iq4_xs, 256 weights in 136 bytes: `d` f16 | `scalesHigh` u16 | `scalesLow` 4 bytes | `qs` 128 bytes. Each 32 weights have 16 bytes of
 * `qs` laid out as in iq4_nl and a 6-bit scale: a nibble of `scalesLow`, a bit pair of `scalesHigh`: `w = d * (scale - 32) * level[q]`.
 * Source: `block_iq4_xs` of ggml-common.h.
 */
export function dequantizeIq4Xs(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 136, to += 256) {
    const d = halfAt(bytes, at);
    const scalesHigh = bytes[at + 2]! | (bytes[at + 3]! << 8);
    for (let group = 0; group < 8; group++) {
      const low = (bytes[at + 4 + (group >> 1)]! >> (4 * (group & 1))) & 15;
      const scale = d * ((low | (((scalesHigh >> (2 * group)) & 3) << 4)) - 32);
      const qs = at + 8 + group * 16;
      for (let j = 0; j < 16; j++) {
        const q = bytes[qs + j]!;
        out[to + group * 32 + j] = scale * iq4Levels[q & 15]!;
        out[to + group * 32 + j + 16] = scale * iq4Levels[q >> 4]!;
      }
    }
  }
}
