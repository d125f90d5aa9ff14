import { halfWordAt } from "../../floats/half.ts";
import type { CodebookType } from "./codebook.ts";
import { iq1Grid } from "./grids.ts";

export const iq1Points: readonly number[] = [-1, 0, 1];

/** Eighths of the points -1, 0 and 1 of iq1_s and iq1_m, shifted up or, from 8 on, down by `IQ1S_DELTA` of ggml-common.h, 1/8. */
export const iq1Levels: readonly number[] = [-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7, 0, 0, 0, 0, 0];

/**
 * iq1_s, 256 weights in 50 bytes: `d` f16 | `qs` 32 bytes | `qh` 8 × u16. Each 8 weights have a byte of `qs` and three bits above it in
 * the `qh` of their 32, which on top has a 3-bit scale and the sign of the shift: `w = d * (2 * scale + 1) * (point ± 1/8)`. Source:
 * `block_iq1_s` of ggml-common.h.
 */
export const iq1S: CodebookType = {
  grid: iq1Grid,
  dimensions: 8,
  points: iq1Points,
  levels: iq1Levels,
  groupSize: 32,
  factor: 0.25,
  d: halfWordAt,
  scale: (bytes, at, group) => (bytes[at + 35 + 2 * group]! >> 4) & 7,
  point: (bytes, at, part) => bytes[at + 2 + part]! | (((halfWordAt(bytes, at + 34 + 2 * (part >> 2)) >> (3 * (part & 3))) & 7) << 8),
  signs: (bytes, at, part) => (bytes[at + 35 + 2 * (part >> 2)]! & 0x80 ? 0xff : 0),
};
