import type { DimValues, Shape } from "@centella/core";
import { neighbourCount } from "../emitter.ts";
import { asValue, type Extent, plus } from "../extent.ts";
import { type GpuScope, type GroupDim, groupExtent, mostElements } from "../kernel.ts";
import { countOf } from "../shared/moving.ts";

/** Most lanes of a group that reads a tile of columns. */
const tileLanes = 256;

/** The number of lanes of a group is a multiple of it. */
const warpLanes = 32;

/** Most lanes next to each other in a tile: 512 bytes where each reads four columns, else 256. */
const mostAcross = { 1: 64, 4: 32 } as const;

/**
 * How the lanes of groups share tiles of columns: some lanes for each of several places of `width` neighbouring columns. Where the number of columns
 * is that of a run, so are the numbers of places, of their lanes and of tiles.
 */
export interface ColumnTile {
  /** The columns of a matrix, as extents of axes. */
  readonly inner: Shape;
  readonly width: 1 | 4;
  /** Lanes of a group: whole warps, so that some may have nothing to do. */
  readonly lanes: number;
  /** Number of tiles that cover all columns. */
  readonly count: GroupDim;
  /** Places of a tile in the largest run. */
  readonly across: number;
  /** Fewest and most lanes of a place in all runs. */
  readonly leastDown: number;
  readonly mostDown: number;
}

/** The lanes of a tile in a run. */
export interface TileLanes {
  /** Lanes next to each other, each with `width` columns. */
  readonly across: Extent;
  /** Lanes of a place, `across` lanes from one to the next one. */
  readonly down: Extent;
}

/** The tile for columns of axes `inner`, of which lanes share at most `mostRows` rows in the runs of a bucket. */
export function columnTile(inner: Shape, mostRows: number, bucket: DimValues | undefined): ColumnTile {
  const fixed = mostElements(inner.filter((dim) => typeof dim === "number"));
  const width = fixed % neighbourCount === 0 ? neighbourCount : 1;
  const places = mostElements(inner, bucket) / width;
  if (isFixed(inner)) {
    const count = Math.ceil(places / mostAcross[width]);
    const across = Math.ceil(places / count);
    const down = downOf(across, mostRows);
    return { inner, width, count, across, lanes: wholeWarps(across * down), leastDown: down, mostDown: down };
  }
  const across = Math.min(places, mostAcross[width]);
  const lanes = wholeWarps(across * downOf(across, mostRows));
  // Runs have at least the places of the fixed axes, and several tiles are at least half full.
  const leastAcross = Math.max(1, Math.min(fixed / width, mostAcross[width] / 2));
  const down = (places: number): number => Math.max(1, Math.min(Math.floor(lanes / places), mostRows));
  const count = { of: inner, size: mostAcross[width] * width };
  return { inner, width, count, across, lanes, leastDown: down(across), mostDown: down(leastAcross) };
}

/** Lanes of a place where a tile has `across` of these: a power of two, less than twice the rows. */
function downOf(across: number, mostRows: number): number {
  return 2 ** Math.floor(Math.log2(Math.max(1, Math.min(tileLanes / across, 2 * mostRows - 1))));
}

function wholeWarps(lanes: number): number {
  return Math.ceil(lanes / warpLanes) * warpLanes;
}

/** Number of tiles that cover all columns, in a run. */
export function tilesIn(scope: GpuScope, { count }: ColumnTile): Extent {
  return typeof count === "number" ? scope.whole(count) : groupExtent(scope, count);
}

/** Number of columns of a matrix, in a run. */
export function columnsIn(scope: GpuScope, { inner }: ColumnTile): Extent {
  return countOf(scope, inner);
}

/** The lanes of a tile, one of `tiles` of a run. */
export function lanesIn(scope: GpuScope, tile: ColumnTile, tiles: Extent): TileLanes {
  const { inner, width, across, lanes, mostDown } = tile;
  if (isFixed(inner)) return { across, down: mostDown };
  const { k } = scope;
  const places = k.quotient(asValue(k, columnsIn(scope, tile)), width);
  const acrossInRun = k.quotient(k.sub(asValue(k, plus(k, places, tiles)), 1), asValue(k, tiles));
  return { across: acrossInRun, down: k.min(k.quotient(k.constant("u32", lanes), acrossInRun), mostDown) };
}

/** Whether every lane of a tile's groups has columns and rows in all runs. */
export function wholeIn({ inner, width, count, across, lanes, mostDown }: ColumnTile): {
  readonly columns: boolean;
  readonly rows: boolean;
} {
  const isKnown = typeof count === "number";
  return { columns: isKnown && across * width * count === mostElements(inner), rows: isKnown && across * mostDown === lanes };
}

function isFixed(shape: Shape): shape is readonly number[] {
  return shape.every((dim) => typeof dim === "number");
}
