import { halfWordAt, wordAt } from "../../floats/half.ts";
import { type CodebookType, signedLevels } from "./codebook.ts";
import { evenSigns, iq3XxsGrid } from "./grids.ts";

const points = [4, 12, 20, 28, 36, 44, 52, 62];

/**
 * iq3_xxs, 256 weights in 98 bytes: `d` f16 | `qs` 64 bytes | `signsAndScales` 8 × u32. Each byte of `qs` is the index of a point of 4.
 * Each 32 weights have a 32-bit number as in iq2_xxs: `w = d * (scale + 1/2) / 2 * sign * point`. Source: `block_iq3_xxs` of
 * ggml-common.h.
 */
export const iq3Xxs: CodebookType = {
  grid: iq3XxsGrid,
  dimensions: 4,
  points,
  levels: signedLevels(points),
  groupSize: 32,
  factor: 0.5,
  d: halfWordAt,
  scale: (bytes, at, group) => bytes[at + 69 + 4 * group]! >> 4,
  point: (bytes, at, part) => bytes[at + 2 + part]!,
  signs: (bytes, at, part) => evenSigns((wordAt(bytes, at + 66 + 4 * (part >> 3)) >>> (7 * ((part >> 1) & 3))) & 127) >> (4 * (part & 1)),
};
