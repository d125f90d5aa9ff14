import { elementsAtOnce } from "./roundedUnits.ts";

/** How the workgroups of products of few rows divide their work. */
export interface RowForm {
  /** Lanes of a workgroup. */
  readonly lanes: number;
  /** Lanes that share the depth of a column, a power of two. */
  readonly lanesPerColumn: number;
  /** Columns that a lane computes at once: they share the loads of the rows. */
  readonly columnsPerLane: number;
  /** How often a workgroup computes its columns. */
  readonly turns: number;
  readonly depth: number;
  /** Rows that each weight is multiplied with. */
  readonly rows: number;
  /** Lanes that add up in registers. */
  readonly subgroup: number;
}

/** What the choice of a form depends on. */
export interface RowWork {
  /** Columns of all results. */
  readonly columns: number;
  readonly depth: number;
  readonly rows: number;
  /** Whether products multiply packed integers. */
  readonly isPacked: boolean;
  /** Lanes of a workgroup that prepares its row; undefined where rows are read from memory. */
  readonly stageLanes: number | undefined;
  readonly subgroup: number;
}

/** Lanes that share a column, and from which depth on twice as many do. */
const leastLanes = 32;
const deepRow = 8192;

/** Workgroups that keep a device busy. With more columns, each computes several, and fewer prepare the row. */
const enoughGroups = 512;
const maxTurns = 8;

/**
 * Columns from which on a lane multiplies several packed rows with two columns at once: reading the rows takes longer than reading the
 * weights. With fewer columns, processors would be idle.
 */
const manyColumns = 4096;

/** Most lanes of a workgroup that rounds its row, and those of all workgroups on a large device. Rounding is repeated in each workgroup. */
const mostLanes = 1024;
const enoughLanes = 132 * mostLanes;

/** Lanes of a workgroup that rounds its row: those that have a part of it, and as many as leave work for all processors. */
export function roundingLanes(columns: number, { depth, maxLanes, subgroup }: RoundingWork): number {
  const isIdle = (lanes: number): boolean => lanes * elementsAtOnce > depth;
  const isFew = (lanes: number): boolean => (columns * lanesOf(depth, subgroup)) / lanes < (enoughLanes / mostLanes) * (2 / 3);
  let lanes = mostLanes;
  while (lanes > 128 && (lanes > maxLanes || isIdle(lanes) || isFew(lanes))) lanes /= 2;
  return lanes;
}

/** Where workgroups round a row of `depth` elements. */
export interface RoundingWork {
  readonly depth: number;
  readonly maxLanes: number;
  readonly subgroup: number;
}

/** Lanes of a column. Deep rows have more, unless the lanes of a column then no longer add up in registers. */
function lanesOf(depth: number, subgroup: number): number {
  return depth < deepRow || subgroup >= leastLanes ? leastLanes : 2 * leastLanes;
}

export function rowForm({ columns, depth, rows, isPacked, stageLanes, subgroup }: RowWork): RowForm {
  const lanesPerColumn = lanesOf(depth, subgroup);
  const lanes = stageLanes ?? (isPacked ? 4 * leastLanes : 2 * leastLanes);
  const columnsPerLane = isPacked && !(rows > 1 && columns >= manyColumns && subgroup >= lanesPerColumn) ? 1 : 2;
  const groups = columns / ((lanes / lanesPerColumn) * columnsPerLane);
  const turns =
    stageLanes === undefined
      ? 1
      : isPacked
        ? Math.ceil((groups * lanes) / enoughLanes)
        : Math.min(maxTurns, Math.floor(groups / enoughGroups));
  return { lanes, lanesPerColumn, columnsPerLane, turns: Math.max(1, turns), depth, rows, subgroup };
}

/** Columns that a workgroup computes at once. */
export function columnsAtOnce({ lanes, lanesPerColumn, columnsPerLane }: RowForm): number {
  return (lanes / lanesPerColumn) * columnsPerLane;
}

/** Bytes of a workgroup's memory in which the lanes of a column add up `products` products. */
export function sumBytes(products: number, { lanes, lanesPerColumn, columnsPerLane, rows, subgroup }: RowForm): number {
  return lanesPerColumn <= subgroup ? 0 : (4 * products * columnsPerLane * rows * lanes) / subgroup;
}
