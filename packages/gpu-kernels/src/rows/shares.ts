import type { DimValues } from "@centella/core";
import { type NumberType, neighbourCount, type U32, type Values } from "../emitter.ts";
import { asValue, divide, type Extent, plus, times } from "../extent.ts";
import { type GpuArguments, type GpuScope, type GpuScratch, type GpuStep, mostElements } from "../kernel.ts";
import { forEachOf, type Row, type Rows, rowAt } from "./rows.ts";
import { loadSummary, type Summary, storeSummary, summarize } from "./summary.ts";

/** Minimum elements of a row that several groups share, and of each group's share. */
const longRow = 2 ** 14;
const leastShare = 2 ** 12;

/** Minimum elements of a row that several groups share where a group alone visits them several times, which takes one step less. */
export const longVisitedRow: number = 2 ** 15;

/** Groups that suffice to keep a device busy. */
const enoughGroups = 512;

/** Lanes of a group that shares a row, and of one that combines the shares of a row. */
export const shareLanes = 256;

/** Number of groups that share each of `rows` rows of `length` elements, from a length of `shortest` on. */
export function sharersOf(rows: number, length: number, shortest: number = longRow): number {
  if (length < shortest) return 1;
  return Math.max(1, Math.min(Math.ceil(length / leastShare), Math.floor(enoughGroups / Math.max(1, rows))));
}

/** Rows that several groups share each. */
export interface SharedRows extends Rows {
  /** Number of groups that share a row, in the largest run of a bucket. */
  readonly sharers: number;
}

/** Rows that groups share; undefined if a group for each suffices. `shortest` is the least length of rows that are shared. */
export function sharedRows(rows: Rows, bucket: DimValues | undefined, shortest: number = longRow): SharedRows | undefined {
  const { outer, along, inner } = rows;
  const sharers = sharersOf(mostElements([...outer, ...inner], bucket), mostElements(along, bucket), shortest);
  return sharers === 1 ? undefined : { ...rows, sharers };
}

/** A group's share of a row. Both ends are multiples of {@link neighbourCount} if the row's length is one. */
export interface Share {
  readonly row: Row;
  /** Number of the share in its row. */
  readonly share: U32;
  readonly start: U32;
  readonly end: U32;
}

/** Runs a group for each share of each row. */
export function forShares(
  shared: SharedRows,
  { name, args }: { readonly name: string; readonly args: GpuArguments },
  body: (scope: GpuScope, share: Share, group: U32) => void,
): GpuStep {
  const { outer, inner, sharers } = shared;
  return {
    kind: "groups",
    name,
    args,
    shape: [...outer, ...inner, sharers],
    lanes: shareLanes,
    body: (scope, group) => {
      const { k } = scope;
      const [number, share] = divide(k, group, sharers);
      const row = rowAt(scope, shared, asValue(k, number));
      const unit = sharers * neighbourCount;
      const size = k.mul(k.quotient(k.add(asValue(k, row.length), unit - 1), unit), neighbourCount);
      const start = k.mul(asValue(k, share), size);
      body(scope, { row, share: asValue(k, share), start, end: k.min(k.add(start, size), row.length) }, group);
    },
  };
}

/** The summaries of all shares of rows, in temporary memory. */
export function partsOf({ outer, inner, sharers }: SharedRows, { types }: { readonly types: readonly NumberType[] }): GpuScratch {
  return { kind: "scratch", dtype: "u32", elements: [...outer, ...inner, sharers, types.length] };
}

/** Stores the summary of a group's share in the argument `parts`. */
export function storePart<const T extends readonly NumberType[]>({ k }: GpuScope, group: U32, values: Values<T>): void {
  k.if(k.compare("eq", k.lane(), 0), () => storeSummary(k, group, values));
}

/** Combines the summaries of the first `count` shares of a row, by default of all, which are in the argument `parts`, over the lanes of a group. */
export function summaryOf<const T extends readonly NumberType[]>(
  scope: GpuScope,
  { sharers }: SharedRows,
  summary: Summary<T>,
  row: U32,
  count: Extent = sharers,
): Values<T> {
  const { k } = scope;
  const { types } = summary;
  const start = times(k, row, sharers * types.length);
  return summarize(k, summary, (take) =>
    forEachOf(scope, count, (i) => take(loadSummary(k, types, plus(k, start, times(k, i, types.length))))),
  );
}
