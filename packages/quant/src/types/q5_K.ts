import { f32 } from "../floats/float32.ts";
import { halfAt } from "../floats/half.ts";
import { type AffineFormat, affineBlock, magnitudeWeights, setHalves } from "../quantize/kAffine.ts";
import { kMin, kScale, packKScales } from "../quantize/kScales.ts";
import { packNibbles } from "./q4_K.ts";

/**
 * q5_K, 256 weights in 176 bytes: `d` f16 | `dmin` f16 | `scales` 12 bytes (see kScales.ts) | `qh` 32 bytes | `qs` 128 bytes. The low
 * four bits are stored as in q4_K; bit `k` of `qh[l]` is the fifth bit of weight `32 * k + l`: `w = d * scale * q - dmin * min`. Source:
 * `block_q5_K` of ggml-common.h.
 */
export function dequantizeQ5_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 176, to += 256) {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const min = dmin * kMin(bytes, at + 4, group);
      const shift = (group & 1) * 4;
      const qs = at + 48 + (group >> 1) * 32;
      for (let j = 0; j < 32; j++) {
        const fifth = (bytes[at + 16 + j]! >> group) & 1;
        out[to + group * 32 + j] = scale * (((bytes[qs + j]! >> shift) & 15) | (fifth << 4)) - min;
      }
    }
  }
}

const format: AffineFormat = {
  groupSize: 32,
  max: 31,
  maxScale: 63,
  search: { first: -0.5, step: f32(0.1), steps: 15, absolute: false },
  varianceFactor: 2,
  plainWeights: magnitudeWeights,
};

/** Quantises a row, see kAffine.ts. Source: `quantize_q5_K` of ggml-quants.c. */
export function quantizeQ5_K(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 176, from += 256) {
    const block = affineBlock(row, from, format, importance);
    setHalves(out, at, block);
    packKScales(block.scales, block.mins, out, at + 4);
    out.fill(0, at + 16, at + 48);
    for (let j = 0; j < 256; j++) out[at + 16 + (j & 31)]! |= (block.codes[j]! >> 4) << (j >> 5);
    packNibbles(block.codes, out, at + 48);
  }
}
