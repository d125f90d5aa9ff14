import { halfWordAt } from "../../floats/half.ts";
import { type CodebookType, nibbleAt, signedLevels } from "./codebook.ts";
import { iq3SGrid } from "./grids.ts";

const points = [1, 3, 5, 7, 9, 11, 13, 15];

/**
 * iq3_s, 256 weights in 110 bytes: `d` f16 | `qs` 64 bytes | `qh` 8 bytes | `signs` 32 bytes | `scales` 4 bytes. Each 4 weights have a
 * byte of `qs`, a bit of `qh` above it, and a nibble of signs; a nibble of `scales` is shared by 32 weights:
 * `w = d * (2 * scale + 1) * sign * point`. Source: `block_iq3_s` of ggml-common.h.
 */
export const iq3S: CodebookType = {
  grid: iq3SGrid,
  dimensions: 4,
  points,
  levels: signedLevels(points),
  groupSize: 32,
  factor: 2,
  d: halfWordAt,
  scale: (bytes, at, group) => nibbleAt(bytes, at + 106, group),
  point: (bytes, at, part) => bytes[at + 2 + part]! | (((bytes[at + 66 + (part >> 3)]! >> (part & 7)) & 1) << 8),
  signs: (bytes, at, part) => nibbleAt(bytes, at + 74, part),
};
