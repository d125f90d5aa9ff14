import { halfWordAt, wordAt } from "../../floats/half.ts";
import { type CodebookType, signedLevels } from "./codebook.ts";
import { evenSigns, iq2XxsGrid } from "./grids.ts";

/** Points of the iq2 types, in eighths of a step of the scale. */
export const iq2Points: readonly number[] = [8, 25, 43];
export const iq2Levels: readonly number[] = signedLevels(iq2Points);

/**
 * iq2_xxs, 256 weights in 66 bytes: `d` f16 | `qs` 8 × 8 bytes. Each 32 weights have four bytes of indices of points of 8, then a
 * 32-bit number: four times 7 bits of signs and, on top, a 4-bit scale: `w = d * (scale + 1/2) / 4 * sign * point`. Source:
 * `block_iq2_xxs` of ggml-common.h.
 */
export const iq2Xxs: CodebookType = {
  grid: iq2XxsGrid,
  dimensions: 8,
  points: iq2Points,
  levels: iq2Levels,
  groupSize: 32,
  factor: 0.25,
  d: halfWordAt,
  scale: (bytes, at, group) => bytes[at + 9 + 8 * group]! >> 4,
  point: (bytes, at, part) => bytes[at + 2 + 8 * (part >> 2) + (part & 3)]!,
  signs: (bytes, at, part) => evenSigns((wordAt(bytes, at + 6 + 8 * (part >> 2)) >>> (7 * (part & 3))) & 127),
};
