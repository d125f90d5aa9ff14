/**
 * Scale `j` of the 12 packed bytes of q4_K and q5_K: eight 6-bit scales and eight 6-bit minima. Scales 0-3 are the low six bits
 * of bytes 0-3 and minima 0-3 those of bytes 4-7; number `j >= 4` has its low four bits in byte `j + 4` (scale low nibble,
 * minimum high nibble) and its upper two in the top of byte `j - 4` (scale) or `j` (minimum). Source: `get_scale_min_k4` of ggml-quants.c.
 */
export function kScale(bytes: Uint8Array, at: number, j: number): number {
  if (j < 4) return bytes[at + j]! & 63;
  return (bytes[at + j + 4]! & 15) | ((bytes[at + j - 4]! >> 6) << 4);
}

/** Minimum `j` of the packing that {@link kScale} describes. */
export function kMin(bytes: Uint8Array, at: number, j: number): number {
  if (j < 4) return bytes[at + j + 4]! & 63;
  return (bytes[at + j + 4]! >> 4) | ((bytes[at + j]! >> 6) << 4);
}

/** Writes eight scales and eight minima below 64 in the packing that {@link kScale} describes. */
export function packKScales(scales: Uint8Array, mins: Uint8Array, out: Uint8Array, at: number): void {
  for (let j = 0; j < 4; j++) {
    const [scale, min] = [scales[j + 4]!, mins[j + 4]!];
    out[at + j] = scales[j]! | ((scale >> 4) << 6);
    out[at + j + 4] = mins[j]! | ((min >> 4) << 6);
    out[at + j + 8] = (scale & 15) | ((min & 15) << 4);
  }
}
