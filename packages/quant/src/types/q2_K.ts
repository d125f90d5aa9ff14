import { f32 } from "../floats/float32.ts";
import { halfAt } from "../floats/half.ts";
import { type AffineBlock, type AffineFormat, affineBlock, setHalves } from "../quantize/kAffine.ts";
/**
 * q2_K, 256 weights in 84 bytes: `scales` 16 bytes | `qs` 64 bytes | `d` f16 | `dmin` f16. Each group of 16 weights has a byte of
 * `scales`: low nibble scale, high nibble minimum. Per 128 weights there are 32 bytes of `qs`, whose bit pairs 0, 2, 4, 6 hold 32
 * weights each: `w = d * scale * q - dmin * min`. Source: `block_q2_K` of ggml-common.h.
 */
export function dequantizeQ2_K(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 84, to += 256) {
    const d = halfAt(bytes, at + 80);
    const dmin = halfAt(bytes, at + 82);
    for (let group = 0; group < 16; group++) {
      const packed = bytes[at + group]!;
      const scale = d * (packed & 15);
      const min = dmin * (packed >> 4);
      const shift = group & 6;
      const qs = at + 16 + (group >> 3) * 32 + (group & 1) * 16;
      for (let j = 0; j < 16; j++) out[to + group * 16 + j] = scale * ((bytes[qs + j]! >> shift) & 3) - min;
    }
  }
}

const format: AffineFormat = {
  groupSize: 16,
  max: 3,
  maxScale: 15,
  search: { first: -0.5, step: f32(0.1), steps: 15, absolute: true },
  varianceFactor: 1,
  plainWeights(x, from, weights) {
    for (let i = 0; i < 16; i++) weights[i] = Math.abs(x[from + i]!);
  },
};

/** Quantises a row, see kAffine.ts. Source: `quantize_q2_K` of ggml-quants.c. */
export function quantizeQ2_K(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 84, from += 256) {
    const block: AffineBlock = affineBlock(row, from, format, importance);
    for (let group = 0; group < 16; group++) out[at + group] = block.scales[group]! | (block.mins[group]! << 4);
    packPairs(block.codes, out, at + 16);
    setHalves(out, at + 80, block);
  }
}

/** Writes the low two bits of 256 codes to the 64 bytes at `at`, as q2_K and q3_K have them. */
export function packPairs(codes: Uint8Array, out: Uint8Array, at: number): void {
  for (let i = 0; i < 64; i++) {
    const from = (i >> 5) * 128 + (i & 31);
    out[at + i] = (codes[from]! & 3) | ((codes[from + 32]! & 3) << 2) | ((codes[from + 64]! & 3) << 4) | ((codes[from + 96]! & 3) << 6);
  }
}
