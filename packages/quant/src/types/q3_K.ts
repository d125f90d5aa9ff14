import { clamp, f32, importanceWeights, largestValue, sumOfSquares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { nearestInt } from "../quantize/rounding.ts";
import { recode, refinedScale, symmetricScale } from "../quantize/symmetricScale.ts";
import { packPairs } from "./q2_K.ts";

/**
 * q3_K, 256 weights in 110 bytes: `hmask` 32 bytes | `qs` 64 bytes | `scales` 12 bytes | `d` f16. The low two bits of a weight are stored as
 * in q2_K; its third bit is bit `k` of `hmask[l]` for weight `32 * k + l`. The sixteen 6-bit scales have their low four bits in the
 * nibbles of bytes 0-7 (low nibbles first) and their upper two in the bit pairs of bytes 8-11: `w = d * (scale - 32) * (q - 4)`.
 * Source: `block_q3_K` of ggml-common.h.
 */
export function dequantizeQ3_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 110, to += 256) {
    const d = halfAt(bytes, at + 108);
    for (let group = 0; group < 16; group++) {
      const low = (bytes[at + 96 + (group & 7)]! >> (group < 8 ? 0 : 4)) & 15;
      const high = (bytes[at + 104 + (group & 3)]! >> (2 * (group >> 2))) & 3;
      const scale = d * ((low | (high << 4)) - 32);
      const shift = group & 6;
      const half = (group & 1) * 16;
      const qs = at + 32 + (group >> 3) * 32 + half;
      for (let j = 0; j < 16; j++) {
        const third = (bytes[at + half + j]! >> (group >> 1)) & 1;
        out[to + group * 16 + j] = scale * (((bytes[qs + j]! >> shift) & 3) - (third ? 0 : 4));
      }
    }
  }
}

const codes = new Uint8Array(256);
const scales = new Float32Array(16);
/** The sixteen scales as they are stored, `[-32, 31]`. */
const scaleCodes = new Int8Array(16);
const offsetCodes = new Uint8Array(16);
const weights = new Float32Array(16);
const groupWeights = new Float32Array(16);

/**
 * Quantises a row: finds a scale for each group ({@link refinedScale}), rounds these to multiples of a common `d`, and computes the codes
 * for the rounded scales. With `importance`, {@link symmetricScale} finds the scales. Source: `quantize_q3_K` of ggml-quants.c.
 */
export function quantizeQ3_K(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 110, from += 256) {
    setHalfAt(out, at + 108, importance === undefined ? plainScales(row, from) : weightedScales(row, from, importance));
    recode(row, from, halfAt(out, at + 108), scaleCodes, 4, codes);
    out.fill(0, at, at + 32);
    for (let j = 0; j < 256; j++) out[at + (j & 31)]! |= (codes[j]! >> 2) << (j >> 5);
    packPairs(codes, out, at + 32);
    out.fill(0, at + 96, at + 108);
    for (let group = 0; group < 16; group++) {
      const code = scaleCodes[group]! + 32;
      out[at + 96 + (group & 7)]! |= (code & 15) << (group < 8 ? 0 : 4);
      out[at + 104 + (group & 3)]! |= (code >> 4) << (2 * (group >> 2));
    }
  }
}

/** Writes `codes` and `scaleCodes` of 256 weights and returns `d`. */
function plainScales(row: Float32Array, from: number): number {
  for (let group = 0; group < 16; group++) scales[group] = refinedScale(row, from + group * 16, 16, 4, codes, group * 16);
  const largest = largestValue(scales, 0, 16);
  if (largest === 0) {
    scaleCodes.fill(-32);
    return 0;
  }
  const inverse = f32(-32 / largest);
  for (let group = 0; group < 16; group++) scaleCodes[group] = clamp(nearestInt(f32(inverse * scales[group]!)), -32, 31);
  return f32(1 / inverse);
}

function weightedScales(row: Float32Array, from: number, importance: Float32Array): number {
  const variance = f32(f32(2 * sumOfSquares(row, from, 256)) / 256);
  for (let group = 0; group < 16; group++) {
    importanceWeights(row, from + group * 16, 16, importance, variance, weights);
    let sum = 0;
    for (let i = 0; i < 16; i++) sum = f32(sum + weights[i]!);
    groupWeights[group] = sum;
    scales[group] = symmetricScale(row, from + group * 16, 16, 4, weights, codes, group * 16);
  }
  const d = symmetricScale(scales, 0, 16, 32, groupWeights, offsetCodes, 0);
  for (let group = 0; group < 16; group++) scaleCodes[group] = offsetCodes[group]! - 32;
  return d;
}
