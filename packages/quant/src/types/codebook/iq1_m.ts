import { halfWordAt } from "../../floats/half.ts";
import { type CodebookType, nibbleAt } from "./codebook.ts";
import { iq1Grid } from "./grids.ts";
import { iq1Levels, iq1Points } from "./iq1_s.ts";

/**
 * iq1_m, 256 weights in 56 bytes: `qs` 32 bytes | `qh` 16 bytes | `scales` 4 × u16. Each 8 weights have a byte of `qs` and a nibble of
 * `qh`: three bits of the index above it and the sign of the shift. The u16 of each 64 weights holds four 3-bit scales, one per 16, and
 * on top a nibble of the f16 `d`, the lowest first: `w = d * (2 * scale + 1) * (point ± 1/8)`. Source: `block_iq1_m` of ggml-common.h.
 */
export const iq1M: CodebookType = {
  grid: iq1Grid,
  dimensions: 8,
  points: iq1Points,
  levels: iq1Levels,
  groupSize: 16,
  factor: 0.25,
  d: (bytes, at) => [0, 1, 2, 3].reduce((half, k) => half | ((bytes[at + 49 + 2 * k]! >> 4) << (4 * k)), 0),
  scale: (bytes, at, group) => (halfWordAt(bytes, at + 48 + 2 * (group >> 2)) >> (3 * (group & 3))) & 7,
  point: (bytes, at, part) => bytes[at + part]! | ((nibbleAt(bytes, at + 32, part) & 7) << 8),
  signs: (bytes, at, part) => (nibbleAt(bytes, at + 32, part) & 8 ? 0xff : 0),
};
