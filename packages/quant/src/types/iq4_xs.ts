import { clamp, f32, largestValue, sumOfSquares } from "../floats/float32.ts";
import { halfAt, halfWordAt, setHalfAt } from "../floats/half.ts";
import { levelScale, packLevels } from "../quantize/levelScale.ts";
import { nearestInt } from "../quantize/rounding.ts";
import { iq4Levels, writeLevels } from "./levels.ts";

/**
 * iq4_xs, 256 weights in 136 bytes: `d` f16 | `scalesHigh` u16 | `scalesLow` 4 bytes | `qs` 128 bytes. Each 32 weights have 16 bytes of
 * `qs` laid out as in iq4_nl and a 6-bit scale: a nibble of `scalesLow`, a bit pair of `scalesHigh`: `w = d * (scale - 32) * level[q]`.
 * Source: `block_iq4_xs` of ggml-common.h.
 */
export function dequantizeIq4Xs(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 136, to += 256) {
    const d = halfAt(bytes, at);
    const scalesHigh = halfWordAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const low = (bytes[at + 4 + (group >> 1)]! >> (4 * (group & 1))) & 15;
      const scale = d * ((low | (((scalesHigh >> (2 * group)) & 3) << 4)) - 32);
      writeLevels(iq4Levels, bytes, at + 8 + group * 16, 16, scale, out, to + group * 32);
    }
  }
}

const scales = new Float32Array(8);

/**
 * Quantises a row: finds a scale for each group (levelScale.ts), rounds these to multiples `[-32, 31]` of a common `d` that is not yet
 * rounded to f16, and takes the nearest levels. Source: `quantize_iq4_xs` of ggml-quants.c.
 */
export function quantizeIq4Xs(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 136, from += 256) {
    const variance = f32(sumOfSquares(row, from, 256) * (2 / 256));
    for (let group = 0; group < 8; group++) scales[group] = levelScale(row, from + group * 32, importance, variance);
    const d = f32(-largestValue(scales, 0, 8) / 32);
    const inverse = d === 0 ? 0 : f32(1 / d);
    setHalfAt(out, at, d);
    out.fill(0, at + 2, at + 8);
    for (let group = 0; group < 8; group++) {
      const code = clamp(nearestInt(f32(inverse * scales[group]!)), -32, 31);
      const scale = f32(d * code);
      packLevels(row, from + group * 32, scale === 0 ? 0 : f32(1 / scale), out, at + 8 + group * 16);
      out[at + 2 + (group >> 2)]! |= ((code + 32) >> 4) << (2 * (group & 3));
      out[at + 4 + (group >> 1)]! |= ((code + 32) & 15) << (4 * (group & 1));
    }
  }
}
