import type { TensorSpec } from "@centella/core";
import type { NumberType, U32, Values } from "../emitter.ts";
import { type Extent, times } from "../extent.ts";
import {
  firstArgs,
  fusedName,
  type GpuArguments,
  type GpuCall,
  type GpuScope,
  type GpuScratch,
  type GpuStep,
  resultArgs,
} from "../kernel.ts";
import { type ColumnLane, type ColumnSummaries, type Columns, columnParts, columnsOf, forColumns, partColumns } from "./columns.ts";
import { perRow, type Rows } from "./rows.ts";
import { forShares, partsOf, type Share, type SharedRows, sharedRows, shareLanes, storePart, summaryOf } from "./shares.ts";
import { loadSummary, type Summary } from "./summary.ts";

/** How rows are reduced that groups share, or that are columns next to each other. */
interface RowReduction<T extends readonly NumberType[]> {
  readonly summary: Summary<T>;
  /** The summary of a group's share of a row, over the lanes of the group. */
  readonly ofShare: (scope: GpuScope, share: Share) => Values<T>;
  /** The summaries of a lane's columns in the group's rows. */
  readonly ofColumns: (scope: GpuScope, lane: ColumnLane) => ColumnSummaries<T>;
  /** Memory for the results, which the argument `y` then is. Default: the call's output. */
  readonly to?: GpuScratch;
  /** Stores the result of row number `row`, of `length` elements. */
  readonly store: (scope: GpuScope, row: U32, values: Values<T>, length: Extent) => void;
}

type Call = GpuCall<readonly [TensorSpec]>;

/**
 * The steps of a reduction over rows that are columns next to each other, or that are long and few: several groups share each, and a second
 * step combines their summaries. Undefined for other rows, which a group each reduces.
 */
export function reduceRows<const T extends readonly NumberType[]>(
  call: Call,
  rows: Rows,
  reduction: RowReduction<T>,
): readonly GpuStep[] | undefined {
  const columns = columnsOf(rows, call.bucket);
  if (columns !== undefined) return columnSteps(call, columns, reduction);
  const shared = sharedRows(rows, call.bucket);
  return shared && sharedSteps(call, shared, reduction);
}

function sharedSteps<const T extends readonly NumberType[]>(
  call: Call,
  shared: SharedRows,
  { summary, ofShare, to, store }: RowReduction<T>,
): readonly GpuStep[] {
  const parts = storedAfter(to, partsOf(shared, summary));
  const join = { rows: shared, args: { parts, ...argsOf(call, to) }, lanes: shareLanes };
  return [
    forShares(shared, { name: fusedName("share", call.prologue), args: { ...firstArgs(call), parts } }, (scope, share, group) =>
      storePart(scope, group, ofShare(scope, share)),
    ),
    perRow(fusedName("join", call.epilogue), join, (scope, { row, length }) => {
      const { k } = scope;
      const all = summaryOf(scope, shared, summary, row);
      k.if(k.compare("eq", k.lane(), 0), () => store(scope, row, all, length));
    }),
  ];
}

function columnSteps<const T extends readonly NumberType[]>(
  call: Call,
  columns: Columns,
  { summary, ofColumns, to, store }: RowReduction<T>,
): readonly GpuStep[] {
  const storeAll = (scope: GpuScope, lane: ColumnLane, summaries: ColumnSummaries<T>): void => {
    const values = summaries.inFirst();
    lane.forFirst((at, column) => store(scope, at, values[column]!, scope.extent(columns.length)));
  };
  if (columns.sharers === 1) {
    const step = { name: fusedName("columns", call.prologue, call.epilogue), args: { ...firstArgs(call), ...argsOf(call, to) } };
    return [forColumns(columns, step, (scope, lane) => storeAll(scope, lane, ofColumns(scope, lane)))];
  }
  const parts = storedAfter(to, columnParts(columns, summary));
  const share = { name: fusedName("columns_share", call.prologue), args: { ...firstArgs(call), parts } };
  const join = { name: fusedName("columns_join", call.epilogue), args: { parts, ...argsOf(call, to) } };
  return [
    forColumns(columns, share, (scope, lane) => lane.storeParts(ofColumns(scope, lane))),
    forColumns(partColumns(columns, call.bucket), join, (scope, lane) => {
      const { types } = summary;
      const all = lane.summarize(summary, (take) =>
        lane.forRows((at, column) => take(column, loadSummary(scope.k, types, times(scope.k, at, types.length)))),
      );
      storeAll(scope, lane, all);
    }),
  ];
}

function argsOf(call: Call, to: GpuScratch | undefined): GpuArguments {
  return to === undefined ? resultArgs(call) : { y: to };
}

/** Scratch that is in use together with the results, if these are scratch, too. */
function storedAfter(to: GpuScratch | undefined, parts: GpuScratch): GpuScratch {
  return to === undefined ? parts : { ...parts, after: to };
}
