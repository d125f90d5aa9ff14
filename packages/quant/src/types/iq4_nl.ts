import { f32, sumOfSquares } from "../floats/float32.ts";
import { halfAt, setHalfAt } from "../floats/half.ts";
import { levelScale, packLevels } from "../quantize/levelScale.ts";
import { iq4Levels, writeLevels } from "./levels.ts";

/**
 * iq4_nl, 32 weights in 18 bytes: `d` f16 | `qs` 16 bytes, nibbles as in q4_0, each an index of 16 uneven levels:
 * `w = d * level[q]`. Source: `block_iq4_nl` of ggml-common.h.
 */
export function dequantizeIq4Nl(bytes: Uint8Array, out: Float32Array): void {
  for (let at = 0, to = 0; at < bytes.length; at += 18, to += 32) {
    writeLevels(iq4Levels, bytes, at + 2, 16, halfAt(bytes, at), out, to);
  }
}

/** Quantises a row, see levelScale.ts. Source: `quantize_iq4_nl` of ggml-quants.c. */
export function quantizeIq4Nl(row: Float32Array, out: Uint8Array, importance?: Float32Array): void {
  for (let at = 0, from = 0; at < out.length; at += 18, from += 32) {
    const scale = levelScale(row, from, importance, f32(sumOfSquares(row, from, 32) * (2 / 32)));
    setHalfAt(out, at, scale);
    packLevels(row, from, scale === 0 ? 0 : f32(1 / scale), out, at + 2);
  }
}
