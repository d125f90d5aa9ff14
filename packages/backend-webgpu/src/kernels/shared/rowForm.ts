import { tupleOf } from "@centella/core/backend";
import { elementsAtOnce } from "./roundedUnits.ts";
import { range } from "./shape.ts";

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
  /** Steps of its loop for which a lane reads weights before it multiplies any; 1 where the loop's steps are no multiple of them. */
  readonly ahead: number;
  readonly depth: number;
  /** Rows that each weight is multiplied with. */
  readonly rows: number;
  /** Lanes that add up in registers. */
  readonly subgroup: number;
}

/** What lanes read of weights: codes that are multiplied as such, codes of blocks that become floats, or floats. */
export type WeightReads = "codes" | "blocks" | "floats";

/** What the choice of a form depends on. */
export interface RowWork {
  /** Columns of all results. */
  readonly columns: number;
  readonly depth: number;
  readonly rows: number;
  /** Products of a result. */
  readonly products: number;
  readonly reads: WeightReads;
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

/** From this number of columns on, a lane has several of them without leaving processors idle. */
const manyColumns = 4096;

/** Sums of a lane where it has several columns, each with several packed rows: reading the rows takes longer than reading the weights. */
const sumsOfSeveral = 16;

/** Columns of a lane that multiplies floats of one row in memory, which is too long for a workgroup's: loading it takes longer than loading blocks. */
const columnsOfLongRow = 4;

/** Most lanes of a workgroup that rounds its row. */
const mostLanes = 1024;

/** Processors of a large device. */
const processors = 132;

/** More turns than that leave processors idle at the end of a dispatch, and half as many workgroups more take fewer. */
const manyTurns = 8;

/** Lanes of a workgroup that rounds its row: those that have a part of it, and as many as leave work for all processors. */
export function roundingLanes(columns: number, { depth, maxLanes, subgroup }: RoundingWork): number {
  const isIdle = (lanes: number): boolean => lanes * elementsAtOnce > depth;
  const isFew = (lanes: number): boolean => (columns * lanesOf(depth, subgroup)) / lanes < processors * (2 / 3);
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

export function rowForm(work: RowWork): RowForm {
  const { depth, rows, subgroup } = work;
  const shares = sharesOf(work);
  const { lanes, lanesPerColumn } = shares;
  const formWith = (columnsPerLane: number): RowForm => {
    const groups = work.columns / ((lanes / lanesPerColumn) * columnsPerLane);
    return { ...shares, columnsPerLane, turns: turnsOf(work, groups), depth, rows, subgroup };
  };
  const form = formWith(columnsPerLaneOf(work, lanesPerColumn));
  return isPaired(work, form) ? formWith(2) : form;
}

/** Lanes from which on a workgroup that rounds its row takes two columns for each lane in place of two turns, unless the row is deep. */
const pairedLanes = 512;

function isPaired({ reads, stageLanes = 0 }: RowWork, { rows, depth, turns, lanesPerColumn, subgroup }: RowForm): boolean {
  const isRow = reads === "codes" && rows === 1 && depth < deepRow && subgroup >= lanesPerColumn;
  return isRow && stageLanes >= pairedLanes && turns > 1 && turns <= manyTurns;
}

/** From this depth on, one row is multiplied with floats by more lanes, which read ahead: little else hides the latency of memory. */
const latentDepth = 2048;

/** Lanes of a column then, the preferred number first. The steps for which they read ahead divide a lane's share of the depth. */
const latentLanes = [4 * leastLanes, 2 * leastLanes];
const mostAhead = 7;
const leastAhead = 3;

/** Weights of a step, at most. Where there are fewer, there are as many times more steps, which the same numbers divide. */
const stepWeights: Readonly<Record<WeightReads, number>> = { codes: 64, blocks: 64, floats: 8 };

/** Lanes of a workgroup that reads its rows from memory. */
const groupLanes: Readonly<Record<WeightReads, number>> = { codes: 128, blocks: 64, floats: 64 };

/** What {@link sharesOf} chooses of a form. */
type Shares = Pick<RowForm, "lanes" | "lanesPerColumn" | "ahead">;

function sharesOf({ depth, rows, reads, stageLanes, subgroup }: RowWork): Shares {
  const isLatent = reads === "floats" && rows === 1 && stageLanes === undefined && depth >= latentDepth;
  if (isLatent) return latentShares(depth);
  return { lanes: stageLanes ?? groupLanes[reads], lanesPerColumn: lanesOf(depth, subgroup), ahead: 1 };
}

/** Whether the steps of a column are a multiple of those that its lanes read ahead. */
function isDivided({ depth, lanesPerColumn, ahead }: Pick<RowForm, "depth" | "lanesPerColumn" | "ahead">, reads: WeightReads): boolean {
  return depth % (stepWeights[reads] * lanesPerColumn * ahead) === 0;
}

function latentShares(depth: number): Shares {
  const aheadOf = (lanesPerColumn: number): number | undefined => {
    const steps = range(mostAhead - leastAhead + 1).map((i) => mostAhead - i);
    return steps.find((ahead) => isDivided({ depth, lanesPerColumn, ahead }, "floats"));
  };
  const lanesPerColumn = latentLanes.find((lanes) => aheadOf(lanes) !== undefined) ?? 2 * leastLanes;
  return { lanes: 4 * leastLanes, lanesPerColumn, ahead: aheadOf(lanesPerColumn) ?? 1 };
}

function columnsPerLaneOf({ columns, rows, products, reads, stageLanes, subgroup }: RowWork, lanesPerColumn: number): number {
  if (reads !== "codes") {
    const isLongRow = reads === "blocks" && rows === 1 && products === 1 && stageLanes === undefined;
    return isLongRow && columns >= manyColumns && subgroup >= lanesPerColumn ? columnsOfLongRow : 2;
  }
  // Software GPUs, whose subgroups are small, take seconds to compile the long text of several columns.
  return rows === 1 || columns < manyColumns || subgroup < lanesPerColumn ? 1 : sumsOfSeveral / rows;
}

/** How often each of `groups` workgroups computes its columns. */
function turnsOf({ reads, stageLanes }: RowWork, groups: number): number {
  if (stageLanes === undefined) return 1;
  if (reads !== "codes") return Math.max(1, Math.min(maxTurns, Math.floor(groups / enoughGroups)));
  const turns = Math.max(1, Math.ceil((groups * stageLanes) / (processors * mostLanes)));
  return turns > manyTurns ? Math.round(turns / 1.5) : turns;
}

/** A form in a few words. Forms of the same work differ in it. */
export function nameOfForm({ lanes, lanesPerColumn, columnsPerLane, turns, subgroup, ahead }: RowForm): string {
  const shares = `${lanes} lanes, ${lanesPerColumn} per column, ${columnsPerLane} columns, ${turns} turns, subgroups of ${subgroup}`;
  return `${shares}, ${ahead} steps`;
}

const formNames = /^(\d+) lanes, (\d+) per column, (\d+) columns, (\d+) turns, subgroups of (\d+), (\d+) steps$/;

/** The form of the same work as `form` that {@link nameOfForm} gives a name; undefined for other texts. */
export function formNamed(name: string, form: RowForm): RowForm | undefined {
  const found = formNames.exec(name);
  if (found === null) return undefined;
  const [lanes, lanesPerColumn, columnsPerLane, turns, subgroup, ahead] = tupleOf(found.slice(1).map(Number), 6);
  const all = [lanes, lanesPerColumn, columnsPerLane, turns, subgroup, ahead];
  if (all.some((count) => count < 1) || [lanes, lanesPerColumn, subgroup].some((count) => !Number.isInteger(Math.log2(count))))
    return undefined;
  return { ...form, lanes, lanesPerColumn, columnsPerLane, turns, subgroup, ahead };
}

/** Most sums that a lane of another form has, and least lanes of its columns. */
const mostSums = 16;
const leastLanesOfForm = 8;

/**
 * Forms that may be faster than `form` on some devices. Each differs from it in one choice: lanes of a column or of a workgroup, columns of
 * a lane, turns, where lanes add up, or what they read ahead. `isStaged` is whether workgroups prepare their row.
 */
export function otherForms(form: RowForm, reads: WeightReads, isStaged: boolean): readonly RowForm[] {
  const { lanes, lanesPerColumn, columnsPerLane, turns, subgroup, ahead } = form;
  const all: readonly Partial<RowForm>[] = [
    { lanesPerColumn: lanesPerColumn / 2 },
    { lanesPerColumn: 2 * lanesPerColumn },
    { columnsPerLane: columnsPerLane / 2 },
    { columnsPerLane: 2 * columnsPerLane },
    { lanes: lanes / 2 },
    { lanes: 2 * lanes },
    ...(isStaged ? [{ turns: turns / 2 }, { turns: 2 * turns }] : []),
    ...(subgroup > 1 ? [{ subgroup: 1 }] : []),
    ...[ahead / 2, 2 * ahead].filter((other) => isDivided({ ...form, ahead: other }, reads)).map((other) => ({ ahead: other })),
  ];
  return all.map((change) => ({ ...form, ...change }));
}

/** Whether a device with workgroups of up to `maxLanes` lanes can compute the work of `own` in another form. */
export function isSoundForm(form: RowForm, own: RowForm, maxLanes: number): boolean {
  const { lanes, lanesPerColumn, columnsPerLane, turns, rows, subgroup, ahead } = form;
  const sums = columnsPerLane * rows;
  return (
    [columnsPerLane, turns, ahead].every(Number.isInteger) &&
    subgroup <= own.subgroup &&
    lanesPerColumn >= Math.max(leastLanesOfForm, sums) &&
    (sums <= mostSums || columnsPerLane <= own.columnsPerLane) &&
    lanes >= lanesPerColumn &&
    lanes <= maxLanes
  );
}

/** Columns that a workgroup computes at once. */
export function columnsAtOnce({ lanes, lanesPerColumn, columnsPerLane }: RowForm): number {
  return (lanes / lanesPerColumn) * columnsPerLane;
}

/** Bytes of a workgroup's memory in which the lanes of a column add up `products` products. */
export function sumBytes(products: number, { lanes, lanesPerColumn, columnsPerLane, rows, subgroup }: RowForm): number {
  return lanesPerColumn <= subgroup ? 0 : (4 * products * columnsPerLane * rows * lanes) / subgroup;
}
