/** The 16 levels of iq4_nl and iq4_xs. Source: `kvalues_iq4nl` of ggml-common.h. */
export const iq4Levels: readonly number[] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/**
 * Twice the values of the 4-bit float E2M1 (OCP Microscaling Formats 1.0), so that they are integers; the scales of mxfp4 and nvfp4
 * are halved to match. Code 8, negative zero, counts as 0 as it does in ggml. Source: `kvalues_mxfp4` of ggml-common.h.
 */
export const doubledE2m1: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/** Writes `scale * levels[q]` for the nibbles `q` of `count` bytes at byte `at`: the low nibbles first, then the high ones. */
export function writeLevels(
  levels: readonly number[],
  bytes: Uint8Array,
  at: number,
  count: number,
  scale: number,
  out: Float32Array,
  to: number,
): void {
  for (let j = 0; j < count; j++) {
    const q = bytes[at + j]!;
    out[to + j] = scale * levels[q & 15]!;
    out[to + j + count] = scale * levels[q >> 4]!;
  }
}
