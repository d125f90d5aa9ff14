import { f32 } from "../floats/float32.ts";
import { halfAt } from "../floats/half.ts";
import { type AffineFormat, affineBlock, magnitudeWeights, setHalves } from "../quantize/kAffine.ts";
import { kMin, kScale, packKScales } from "../quantize/kScales.ts";

/**
 * q4_K, 256 weights in 144 bytes: `d` f16 | `dmin` f16 | `scales` 12 bytes (see kScales.ts) | `qs` 128 bytes. Each 64 weights share
 * 32 bytes of `qs`: the low nibbles are the first 32, the high ones the next: `w = d * scale * q - dmin * min`, one scale and
 * minimum per 32. Source: `block_q4_K` of ggml-common.h.
 */
export function dequantizeQ4_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 144, to += 256) {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = d * kScale(bytes, at + 4, group);
      const min = dmin * kMin(bytes, at + 4, group);
      const shift = (group & 1) * 4;
      const qs = at + 16 + (group >> 1) * 32;
      for (let j = 0; j < 32; j++) out[to + group * 32 + j] = scale * ((bytes[qs + j]! >> shift) & 15) - min;
    }
  }
}

const format: AffineFormat = {
  groupSize: 32,
  max: 15,
  maxScale: 63,
  search: { first: -1, step: f32(0.1), steps: 20, absolute: false },
  varianceFactor: 2,
  plainWeights: magnitudeWeights,
};

/** Quantises a row, see kAffine.ts. Source: `quantize_q4_K` of ggml-quants.c. */
export function quantizeQ4_K(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 144, from += 256) {
    const block = affineBlock(row, from, format, importance);
    setHalves(out, at, block);
    packKScales(block.scales, block.mins, out, at + 4);
    packNibbles(block.codes, out, at + 16);
  }
}

/** Writes the low four bits of 256 codes to the 128 bytes at `at`, as q4_K and q5_K have them. */
export function packNibbles(codes: Uint8Array, out: Uint8Array, at: number): void {
  for (let i = 0; i < 128; i++) {
    const from = (i >> 5) * 64 + (i & 31);
    out[at + i] = (codes[from]! & 15) | ((codes[from + 32]! & 15) << 4);
  }
}
