import { elementAt } from "@centella/core/backend";
import type { HalfType } from "../../../ptx/matrix.ts";
import { type UnitFormat, unitRows } from "../../../weights/unitFormat.ts";
import { warpgroupRows } from "../../shared/gpu.ts";
import { type Columns, columnsOf } from "../manyRows/columns.ts";
import { panelBytes, panelDepth } from "../manyRows/panels.ts";
import { formatsOf, type UnitResult } from "../segments.ts";
import { halfType } from "../tile.ts";
import { chooseSplit, type Split } from "./chooseSplit.ts";

/** Row tiles of weights that a warpgroup multiplies: one for each warp. */
export const warpgroupTiles: number = warpgroupRows / unitRows;

/** Fewest and most rows of activations of a tile, the columns of products of warpgroups. */
const minPerTile = 16;
const maxPerTile = 256;

/** Most shared memory of a block. */
const allOfShared = 226 * 1024;

/** Most bytes of a stage of activations, and of all of them. */
const stageBytes = 32 * 1024;
const stagesBytes = 96 * 1024;
const maxStages = 6;

/** Slots of a warp's ring of units. */
const maxDepth = 8;
const minDepth = 2;

/** Rows of activations that a warpgroup's results pass through shared memory for at a time, and numbers from one of them to the next. */
export const finishRows = 16;
export const finishPitch: number = warpgroupRows + 4;

/** The sizes of a launch of mixed-input products. */
export interface MixedSizes extends Split {
  readonly type: HalfType;
  readonly columns: Columns;
  readonly formats: readonly UnitFormat[];
  /** Units of a row tile that one copy brings, and copies of a row tile. */
  readonly together: number;
  readonly copies: number;
  /** Panels of the depth of a copy, and of all copies. */
  readonly copyPanels: number;
  readonly panels: number;
  /** Rows of activations of a tile. */
  readonly perTile: number;
  /** Whether activations have one tile of rows at most. */
  readonly isOneTile: boolean;
  /** Panels of a stage of activations, and stages. */
  readonly stagePanels: number;
  readonly stages: number;
  /** Slots of a warp's ring of units. */
  readonly depth: number;
  readonly slotBytes: number;
}

/** The sizes for up to `rows` rows of activations. Undefined if a warpgroup's registers would need to hold units of several formats. */
export function sizesOf(multiprocessors: number, rows: number, results: readonly UnitResult[]): MixedSizes | undefined {
  const products = elementAt(results, 0).products.length;
  const isOneFormat = results.every((result) => formatsOf({ results: [result] }).length === 1);
  if (!isOneFormat || warpgroupTiles % products !== 0) return undefined;
  const { format, units } = elementAt(elementAt(results, 0).products, 0).units;
  const perTile = Math.min(maxPerTile, Math.max(minPerTile, 2 ** Math.ceil(Math.log2(rows))));
  const sizes = togethersOf(format, units, perTile).map((together) => sizesWith(multiprocessors, rows, results, { perTile, together }));
  return sizes.find(({ depth }) => depth >= minDepth);
}

/** The sizes with some rows in a tile, and some units in a copy. Shared memory may have no room for the rings of units. */
function sizesWith(
  multiprocessors: number,
  rows: number,
  results: readonly UnitResult[],
  { perTile, together }: { readonly perTile: number; readonly together: number },
): MixedSizes {
  const { format, units } = elementAt(elementAt(results, 0).products, 0).units;
  const products = elementAt(results, 0).products.length;
  const formats = formatsOf({ results });
  const copies = units / together;
  const tilesOf = (warpgroups: number): Columns =>
    elementAt(columnsOf(results, (warpgroups * warpgroupRows) / products, Number.MAX_SAFE_INTEGER), 0);
  const rowTiles = Math.ceil(rows / perTile);
  const split = chooseSplit(
    multiprocessors,
    { copies, depth: together * format.width, perTile, isDecoded: format.scales.kind !== "none" },
    (warpgroups) => tilesOf(warpgroups).end * rowTiles,
  );
  const { warpgroups } = split;
  const copyPanels = (together * format.width) / panelDepth;
  const bytes = panelBytes(perTile, 1);
  const stagePanels = Math.max(1, Math.min(copyPanels, stageBytes / bytes));
  const stages = Math.min(maxStages, stagesBytes / (stagePanels * bytes));
  const slotBytes = together * Math.max(...formats.map((each) => each.bytes));
  const fixedBytes = stages * stagePanels * bytes + 4 * warpgroups * finishRows * finishPitch + 1024;
  const warps = warpgroups * warpgroupTiles;
  const depth = Math.min(maxDepth, Math.floor((allOfShared - fixedBytes) / (warps * (slotBytes + 8))));
  const panels = copies * copyPanels;
  const common = { type: halfType(format), columns: tilesOf(warpgroups), formats, together, copies, copyPanels, panels, perTile };
  return { ...common, isOneTile: rowTiles === 1, stagePanels, stages, depth, slotBytes, ...split };
}

/**
 * Numbers of units whose registers a warp may hold at a time, from the most: as many small ones as make a large one, or half as many where sums
 * take most registers.
 */
function togethersOf({ width }: UnitFormat, units: number, perTile: number): readonly number[] {
  const most = (perTile === maxPerTile ? 128 : 256) / width;
  return [4, 2, 1].filter((count) => count === 1 || (count <= most && units % count === 0));
}
