import { gridBitmaps } from "./gridBitmaps.ts";
import type { BlockType } from "./types.ts";
import { blockLayout } from "./types.ts";

/** Levels of iq1_s and iq1_m. */
const ternaryLevels = [-1, 0, 1] as const;
/** Levels of the iq2 types, in eighths of a step of the scale. */
const iq2Levels = [8, 25, 43] as const;
const iq3XxsLevels = [4, 12, 20, 28, 36, 44, 52, 62] as const;
const iq3SLevels = [1, 3, 5, 7, 9, 11, 13, 15] as const;

/**
 * A codebook, decoded at its first use: point `i` is the values `[i * dimensions, (i + 1) * dimensions)`. Source: `iq1s_grid`,
 * `iq2xxs_grid`, … of ggml-common.h.
 */
function lazyGrid(name: keyof typeof gridBitmaps, levels: readonly number[], dimensions: number): () => Int8Array {
  let grid: Int8Array | undefined;
  return () => {
    grid ??= decodeGrid(gridBitmaps[name], levels, dimensions);
    return grid;
  };
}

function decodeGrid(bitmap: string, levels: readonly number[], dimensions: number): Int8Array {
  const bits = atob(bitmap);
  const values: number[] = [];
  for (let point = 0; point < levels.length ** dimensions; point++) {
    if (((bits.charCodeAt(point >> 3) >> (point & 7)) & 1) === 0) continue;
    let digits = point;
    for (let k = 0; k < dimensions; k++) {
      values.push(levels[digits % levels.length]!);
      digits = Math.floor(digits / levels.length);
    }
  }
  return Int8Array.from(values);
}

/** 2048 points of 8. */
export const iq1Grid: () => Int8Array = lazyGrid("iq1", ternaryLevels, 8);
/** 256 points of 8. */
export const iq2XxsGrid: () => Int8Array = lazyGrid("iq2Xxs", iq2Levels, 8);
/** 512 points of 8. */
export const iq2XsGrid: () => Int8Array = lazyGrid("iq2Xs", iq2Levels, 8);
/** 1024 points of 8. */
export const iq2SGrid: () => Int8Array = lazyGrid("iq2S", iq2Levels, 8);
/** 256 points of 4. */
export const iq3XxsGrid: () => Int8Array = lazyGrid("iq3Xxs", iq3XxsLevels, 4);
/** 512 points of 4. */
export const iq3SGrid: () => Int8Array = lazyGrid("iq3S", iq3SLevels, 4);

/**
 * The eight signs that 7 bits stand for in iq2_xxs, iq2_xs and iq3_xxs: the number of minus signs is even, so the eighth bit is the
 * parity of the others. Source: `ksigns_iq2xs` of ggml-common.h.
 */
export function evenSigns(bits: number): number {
  let parity = bits ^ (bits >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return bits | ((parity & 1) << 7);
}

/** `out[to + k] = scale * grid[point + k]`, negated where bit `k` of `signs` is set. */
export function writeSigned(
  grid: Int8Array,
  point: number,
  count: number,
  signs: number,
  scale: number,
  out: Float32Array,
  to: number,
): void {
  for (let k = 0; k < count; k++) out[to + k] = ((signs >> k) & 1 ? -scale : scale) * grid[point + k]!;
}

/** `out[to + k] = scale * (grid[point + k] + shift)`, for 8 weights. */
export function writeShifted(grid: Int8Array, point: number, shift: number, scale: number, out: Float32Array, to: number): void {
  for (let k = 0; k < 8; k++) out[to + k] = scale * (grid[point + k]! + shift);
}

/** The codebook of a type, its points one after the other; undefined for types without one. */
export function codebook(type: BlockType): Int8Array | undefined {
  blockLayout(type);
  return codebooks[type]?.();
}

const codebooks: Readonly<Partial<Record<BlockType, () => Int8Array>>> = {
  iq1_s: iq1Grid,
  iq1_m: iq1Grid,
  iq2_xxs: iq2XxsGrid,
  iq2_xs: iq2XsGrid,
  iq2_s: iq2SGrid,
  iq3_xxs: iq3XxsGrid,
  iq3_s: iq3SGrid,
};
