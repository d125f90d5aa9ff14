import type { Shape, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type Emitter, type NumberType, neighbourCount, type U32, type Values } from "../emitter.ts";
import { asValue, divide, type Extent, plus, times } from "../extent.ts";
import { type GpuArguments, type GpuCall, type GpuScope, type GpuScratch, type GpuStep, mostElements } from "../kernel.ts";
import { dimAt, forEachOf, type Row, rowAt, rowsOf } from "./rows.ts";

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

/** Rows along an axis of `x`, or all of `x` for null. Several groups share each of them. */
export interface SharedRows {
  readonly x: TensorSpec;
  readonly axis: number | null;
  /** The shape without the axis. */
  readonly rows: Shape;
  /** Number of groups that share a row, in the largest run of a bucket. */
  readonly sharers: number;
}

/** The rows of a call's first input; undefined if a group for each suffices. `shortest` is the least length of rows that are shared. */
export function sharedRows(
  call: GpuCall<readonly [TensorSpec, ...unknown[]] & GpuCall["inputs"]>,
  given: number | null,
  shortest: number = longRow,
): SharedRows | undefined {
  const [x] = call.inputs;
  const { outer, inner, axis } = rowsOf(x, given);
  const rows = [...outer, ...inner];
  const sharers = sharersOf(
    mostElements(rows, call.bucket),
    mostElements(axis === null ? x.shape : [dimAt(x, axis)], call.bucket),
    shortest,
  );
  return sharers === 1 ? undefined : { x, axis, rows, sharers };
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
  { x, axis, rows, sharers }: SharedRows,
  { name, args }: { readonly name: string; readonly args: GpuArguments },
  body: (scope: GpuScope, share: Share, group: U32) => void,
): GpuStep {
  return {
    kind: "groups",
    name,
    args,
    shape: [...rows, sharers],
    lanes: shareLanes,
    body: (scope, group) => {
      const { k } = scope;
      const [number, share] = divide(k, group, sharers);
      const row = rowAt(scope, x, axis, asValue(k, number));
      const unit = sharers * neighbourCount;
      const size = k.mul(k.quotient(k.add(asValue(k, row.length), unit - 1), unit), neighbourCount);
      const start = k.mul(asValue(k, share), size);
      body(scope, { row, share: asValue(k, share), start, end: k.min(k.add(start, size), row.length) }, group);
    },
  };
}

/** Values that describe elements of a row, and how those of two sets of elements give those of both. */
export interface Summary<T extends readonly NumberType[]> {
  readonly types: T;
  /** The values for no elements. */
  readonly empty: { readonly [I in keyof T]: number };
  /** Associative and commutative, up to rounding. */
  readonly combine: (k: Emitter, a: Values<T>, b: Values<T>) => Values<T>;
}

/** Combines the values of a group's lanes. `each` calls `take` with the values of single elements, or of several. */
export function summarize<const T extends readonly NumberType[]>(
  k: Emitter,
  { types, empty, combine }: Summary<T>,
  each: (take: (values: Values<T>) => void) => void,
): Values<T> {
  const own = types.map((type, i) => k.variable(type, elementAt(empty, i)));
  // A tuple through `map` is an array to the types.
  const current = (): Values<T> => own.map((variable) => variable.get()) as unknown as Values<T>;
  each((values) => {
    const combined = combine(k, current(), values);
    own.forEach((variable, i) => void variable.set(elementAt(combined, i)));
  });
  return k.reducer(types)(current(), (a, b) => combine(k, a, b));
}

/** The summaries of all shares of rows, in temporary memory. */
export function partsOf({ rows, sharers }: SharedRows, { types }: { readonly types: readonly NumberType[] }): GpuScratch {
  return { kind: "scratch", dtype: "u32", elements: [...rows, sharers, types.length] };
}

/** Stores the summary of a group's share in the argument `parts`. */
export function storePart<const T extends readonly NumberType[]>({ k }: GpuScope, group: U32, values: Values<T>): void {
  k.if(k.compare("eq", k.lane(), 0), () =>
    values.forEach((value, i) => void k.store("parts", plus(k, times(k, group, values.length), i), value)),
  );
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
    forEachOf(scope, count, (i) => {
      const at = plus(k, start, times(k, i, types.length));
      // As above, the types lose the tuple.
      take(types.map((type, j) => k.bitcast(type, k.loadBits("parts", asValue(k, plus(k, at, j))))) as unknown as Values<T>);
    }),
  );
}
