import { halfWordAt } from "../../floats/half.ts";
import { type CodebookType, nibbleAt } from "./codebook.ts";
import { iq2SGrid } from "./grids.ts";
import { iq2Levels, iq2Points } from "./iq2_xxs.ts";

/**
 * iq2_s, 256 weights in 82 bytes: `d` f16 | `qs` 32 bytes | `signs` 32 bytes | `qh` 8 bytes | `scales` 8 bytes. Each 8 weights have a
 * byte of `qs`, a bit pair of `qh` above it, and a byte of signs; a nibble of `scales` is shared by 16 weights:
 * `w = d * (scale + 1/2) / 4 * sign * point`. Source: `block_iq2_s` of ggml-common.h.
 */
export const iq2S: CodebookType = {
  grid: iq2SGrid,
  dimensions: 8,
  points: iq2Points,
  levels: iq2Levels,
  groupSize: 16,
  factor: 0.25,
  d: halfWordAt,
  scale: (bytes, at, group) => nibbleAt(bytes, at + 74, group),
  point: (bytes, at, part) => bytes[at + 2 + part]! | (((bytes[at + 66 + (part >> 2)]! >> (2 * (part & 3))) & 3) << 8),
  signs: (bytes, at, part) => bytes[at + 34 + part]!,
};
