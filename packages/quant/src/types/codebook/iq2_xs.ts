import { halfWordAt } from "../../floats/half.ts";
import { type CodebookType, nibbleAt } from "./codebook.ts";
import { evenSigns, iq2XsGrid } from "./grids.ts";
import { iq2Levels, iq2Points } from "./iq2_xxs.ts";

/**
 * iq2_xs, 256 weights in 74 bytes: `d` f16 | `qs` 32 × u16 | `scales` 8 bytes. Each u16 is 8 weights: 9 bits of index, 7 bits of signs.
 * A nibble of `scales` is shared by 16 weights: `w = d * (scale + 1/2) / 4 * sign * point`. Source: `block_iq2_xs` of ggml-common.h.
 */
export const iq2Xs: CodebookType = {
  grid: iq2XsGrid,
  dimensions: 8,
  points: iq2Points,
  levels: iq2Levels,
  groupSize: 16,
  factor: 0.25,
  d: halfWordAt,
  scale: (bytes, at, group) => nibbleAt(bytes, at + 66, group),
  point: (bytes, at, part) => halfWordAt(bytes, at + 2 + 2 * part) & 511,
  signs: (bytes, at, part) => evenSigns(bytes[at + 3 + 2 * part]! >> 1),
};
