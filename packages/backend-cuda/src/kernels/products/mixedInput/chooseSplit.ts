/** How the tiles of a launch are shared out. */
export interface Split {
  /** Warpgroups that multiply, 64 rows of weights each. */
  readonly warpgroups: number;
  /** Copies of the depth of a tile that one block always multiplies together: a part of all. */
  readonly granule: number;
  readonly blocks: number;
  /** Most tiles of a run. */
  readonly tiles: number;
}

/** Whether blocks share tiles of `copies` copies. */
export function isShared({ granule }: Split, copies: number): boolean {
  return granule < copies;
}

/** The work of a tile. */
interface TileWork {
  /** Copies of units of its depth, and weights of a row that each brings. */
  readonly copies: number;
  readonly depth: number;
  /** Rows of activations. */
  readonly perTile: number;
  /** Whether weights are decoded. */
  readonly isDecoded: boolean;
}

/** Most rows of activations of a tile whose weights four warpgroups decode: more leave them no registers. */
const maxOfFour = 16;

/**
 * Chooses the fastest split by a model of the time. Four warpgroups decode more at a time than two, and are for tiles that are many or deep enough. `tilesOf`
 * returns the number of tiles by the number of warpgroups of a block. */
export function chooseSplit(multiprocessors: number, work: TileWork, tilesOf: (warpgroups: number) => number): Split {
  const { copies, perTile, isDecoded } = work;
  const counts = isDecoded && perTile <= maxOfFour ? [4, 2, 1] : [2, 1];
  const granules = [1, 2, 3, 4].filter((parts) => copies % parts === 0).map((parts) => copies / parts);
  const splits = counts.flatMap((warpgroups) =>
    [...new Set([...granules, 1])].map((granule) => {
      const tiles = tilesOf(warpgroups);
      const count = (tiles * copies) / granule;
      const each = Math.ceil(count / multiprocessors);
      // Single copies are shared evenly; larger granules so that blocks have equal numbers of them.
      const blocks = granule === 1 ? Math.min(count, multiprocessors) : Math.ceil(count / each);
      return { split: { warpgroups, granule, blocks, tiles }, time: microseconds(work, warpgroups, granule, each) };
    }),
  );
  return splits.reduce((best, each) => (each.time < best.time ? each : best)).split;
}

/** Time of a block with `each` granules, on an H200: fitted to products with weights of q4_K. */
function microseconds({ copies, depth, perTile }: TileWork, warpgroups: number, granule: number, each: number): number {
  const sums = perTile * warpgroups;
  const perDepth = warpgroups === 4 ? 1.875 : warpgroups === 2 ? 0.85 + 0.0095 * perTile : 0.55 + 0.0043 * perTile;
  const items = each * granule;
  const isAligned = copies % items === 0 || items % copies === 0;
  const parts = items / copies + (isAligned ? 0 : 1);
  const merges = granule === copies ? 0 : Math.min(2, Math.max(1, parts));
  return items * (depth / 256) * perDepth + Math.max(1, parts) * (1.5 + 0.01 * sums) + merges * (1 + 0.02 * sums);
}
