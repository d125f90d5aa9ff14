import { gridBitmaps } from "./gridBitmaps.ts";

/** The points of a codebook, one after the other. Each value is a small number that a level of the type stands for. */
export type Grid = () => Uint8Array;

/**
 * A codebook, decoded at its first use: point `i` is the values `[i * dimensions, (i + 1) * dimensions)`. Source: `iq1s_grid`,
 * `iq2xxs_grid`, … of ggml-common.h, whose values are the levels of these numbers.
 */
function lazyGrid(name: keyof typeof gridBitmaps, levels: number, dimensions: number): Grid {
  let grid: Uint8Array | undefined;
  return () => {
    grid ??= decodeGrid(gridBitmaps[name], levels, dimensions);
    return grid;
  };
}

function decodeGrid(bitmap: string, levels: number, dimensions: number): Uint8Array {
  const bits = atob(bitmap);
  const values: number[] = [];
  for (let point = 0; point < levels ** dimensions; point++) {
    if (((bits.charCodeAt(point >> 3) >> (point & 7)) & 1) === 0) continue;
    let digits = point;
    for (let k = 0; k < dimensions; k++) {
      values.push(digits % levels);
      digits = Math.floor(digits / levels);
    }
  }
  return Uint8Array.from(values);
}

/** 2048 points of 8. */
export const iq1Grid: Grid = lazyGrid("iq1", 3, 8);
/** 256 points of 8. */
export const iq2XxsGrid: Grid = lazyGrid("iq2Xxs", 3, 8);
/** 512 points of 8. */
export const iq2XsGrid: Grid = lazyGrid("iq2Xs", 3, 8);
/** 1024 points of 8. */
export const iq2SGrid: Grid = lazyGrid("iq2S", 3, 8);
/** 256 points of 4. */
export const iq3XxsGrid: Grid = lazyGrid("iq3Xxs", 8, 4);
/** 512 points of 4. */
export const iq3SGrid: Grid = lazyGrid("iq3S", 8, 4);

/**
 * The eight signs that 7 bits stand for in iq2_xxs, iq2_xs and iq3_xxs: the number of minus signs is even, so the eighth bit is the
 * parity of the others. Source: `ksigns_iq2xs` of ggml-common.h.
 */
export function evenSigns(bits: number): number {
  return bits | ((parities[bits]! & 1) << 7);
}

/** Numbers whose lowest bit is the parity of their index's bits. */
const parities = Uint8Array.from({ length: 128 }, (_, bits) => [1, 2, 3, 4, 5, 6].reduce((parity, k) => parity ^ (bits >> k), bits));
