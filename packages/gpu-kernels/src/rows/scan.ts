import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type Emitter, type F32, neighbourCount, type SharedArray, type U32, type Variable } from "../emitter.ts";
import { type Extent, isBelow, times } from "../extent.ts";
import { type GpuCall, type GpuKernel, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import { type ColumnLane, type Columns, columnParts, columnsInShares, forColumns } from "./columns.ts";
import { forEachBetween, perRow, type Row, rowsOf } from "./rows.ts";
import { forShares, partsOf, type SharedRows, sharedRows, storePart, summaryOf } from "./shares.ts";
import { foldSummary, summarize } from "./summary.ts";

type Combine = (k: Emitter, a: F32, b: F32) => F32;

/** What is scanned with. */
interface Scan {
  /** Neutral element of `combine`. */
  readonly initial: number;
  readonly combine: Combine;
}

/** Neighbouring elements of a lane: few where these suffice for a row. */
const [fewPerLane, manyPerLane] = [neighbourCount, 4 * neighbourCount];

/**
 * Running combination along an axis. A group passes over a row in tiles, with neighbouring elements in each lane; or over a tile of columns, with
 * neighbouring rows in each lane. Several groups share each row if rows are long and few: they combine their shares, then each passes over
 * its own from the combination of all earlier ones.
 */
export function scan(initial: number, combine: Combine): GpuKernel<ParamsOf<"cumsum">, readonly [TensorSpec]> {
  const scanned = { initial, combine };
  return {
    steps: (call, { axis }) => {
      const rows = rowsOf(call.inputs[0], axis);
      const columns = columnsInShares(rows, call.bucket, 1);
      if (columns !== undefined) return columnSteps(call, scanned, columns);
      const shared = sharedRows(rows, call.bucket);
      if (shared !== undefined) return sharedSteps(call, scanned, shared);
      return [
        perRow("", { rows, args: { x: input(call, 0), y: output(call) } }, (scope, row) => {
          scanRange(scope, { ...scanned, row, start: 0, end: row.length, before: scope.k.constant("f32", initial) });
        }),
      ];
    },
  };
}

function sharedSteps(call: GpuCall, scanned: Scan, shared: SharedRows): readonly GpuStep[] {
  const [x, y] = [input(call, 0), output(call)];
  const summary = foldSummary("f32", scanned.initial, scanned.combine);
  const parts = partsOf(shared, summary);
  return [
    forShares(shared, { name: "share", args: { x, parts } }, (scope, { row, start, end }, group) => {
      const { k } = scope;
      const own = summarize(k, summary, (take) => forEachBetween(scope, row, start, end, (at) => take([k.load("x", at)])));
      storePart(scope, group, own);
    }),
    forShares(shared, { name: "result", args: { x, parts, y } }, (scope, { row, share, start, end }) => {
      const [before] = summaryOf(scope, shared, summary, row.row, share);
      scanRange(scope, { ...scanned, row, start, end, before });
    }),
  ];
}

function columnSteps(call: GpuCall, scanned: Scan, columns: Columns): readonly GpuStep[] {
  const [x, y] = [input(call, 0), output(call)];
  const summary = foldSummary("f32", scanned.initial, scanned.combine);
  if (columns.sharers === 1)
    return [
      forColumns(columns, { name: "columns", args: { x, y } }, ({ k }, lane) => {
        const nothing = k.constant("f32", scanned.initial);
        scanColumns(
          k,
          lane,
          scanned,
          Array.from({ length: lane.width }, () => nothing),
        );
      }),
    ];
  const parts = columnParts(columns, summary);
  return [
    forColumns(columns, { name: "columns_share", args: { x, parts } }, ({ k }, lane) => {
      lane.storeParts(lane.summarize(summary, (take) => lane.forRows((at, column) => take(column, [k.load("x", at)]))));
    }),
    forColumns(columns, { name: "columns_result", args: { x, parts, y } }, ({ k }, lane) => {
      const before = lane.summaryOfParts(summary, lane.share).inAll();
      scanColumns(
        k,
        lane,
        scanned,
        before.map(([each]) => each),
      );
    }),
  ];
}

/** Places of a row that a group passes over. Both ends are multiples of {@link neighbourCount} if the row's length is one. */
interface Range extends Scan {
  readonly row: Row;
  readonly start: Extent;
  readonly end: Extent;
  /** The combination of all elements before the first one. */
  readonly before: F32;
}

function scanRange({ k }: GpuScope, { row, start, end, before, initial, combine }: Range): void {
  const perLane = (row.fixedLength ?? Number.POSITIVE_INFINITY) <= k.lanes * fewPerLane ? fewPerLane : manyPerLane;
  const cells = k.shared("f32", 2 * k.lanes);
  const running = k.variable("f32", before);
  k.forUniform(start, end, k.lanes * perLane, (tile) => {
    const first = k.add(tile, k.mul(k.lane(), perLane));
    const values = Array.from({ length: perLane }, () => k.variable("f32", initial));
    forPlaces(k, { row, first, end, count: perLane }, (at, i) => elementAt(values, i).set(k.load("x", at)));
    const sums = combined(k, values, combine);
    const lanes = { number: k.lane(), most: k.lanes, step: 1, last: k.lanes - 1 };
    const { earlier, all } = scanLanes(k, cells, { initial, combine, own: [elementAt(sums, perLane - 1)], lanes });
    const base = combine(k, running.get(), elementAt(earlier, 0));
    forPlaces(k, { row, first, end, count: perLane }, (at, i) => k.store("y", at, combine(k, base, elementAt(sums, i))));
    running.set(combine(k, running.get(), elementAt(all, 0)));
    // The cells are written again.
    k.sync();
  });
}

interface LanePlaces extends Pick<Range, "row" | "end"> {
  readonly first: U32;
  readonly count: number;
}

/** Runs `body` for a lane's places below the end, with the flat index and the number of each, four at once where they are neighbours. */
function forPlaces(k: Emitter, { row, first, end, count }: LanePlaces, body: (at: U32, i: number) => void): void {
  const isWide = row.isDense && row.fixedLength !== undefined && row.fixedLength % neighbourCount === 0;
  const width = isWide ? neighbourCount : 1;
  for (let i = 0; i < count; i += width) {
    const place = i === 0 ? first : k.add(first, i);
    k.if(isBelow(k, place, end), () => {
      if (!isWide) {
        body(row.at(place), i);
        return;
      }
      let next = i;
      k.neighbours([row.at(place)], ([at]) => body(at as U32, next++));
    });
  }
}

/** Running combinations of a lane's columns. `before` are those of all rows before the group's first one. */
function scanColumns(k: Emitter, lane: ColumnLane, { initial, combine }: Scan, before: readonly F32[]): void {
  const perLane = Math.min(manyPerLane / lane.width, lane.mostTurns);
  const cells = k.shared("f32", 2 * k.lanes * lane.width);
  const running = before.map((value) => k.variable("f32", value));
  const lanes = { number: lane.number, most: lane.mostDown, step: lane.across, last: lane.last() };
  k.forUniform(lane.start, lane.end, times(k, lane.down, perLane), (tile) => {
    const first = k.add(tile, k.mul(lane.number, perLane));
    const forPlaces = (body: (at: U32, column: number, i: number) => void): void =>
      lane.ifInside(() => {
        for (let i = 0; i < perLane; i++) {
          const row = i === 0 ? first : k.add(first, i);
          k.if(isBelow(k, row, lane.end), () => lane.forRow(row, (at, column) => body(at, column, i)));
        }
      });
    const values = before.map(() => Array.from({ length: perLane }, () => k.variable("f32", initial)));
    forPlaces((at, column, i) => elementAt(elementAt(values, column), i).set(k.load("x", at)));
    const sums = values.map((own) => combined(k, own, combine));
    const own = sums.map((each) => elementAt(each, perLane - 1));
    const { earlier, all } = scanLanes(k, cells, { initial, combine, own, lanes });
    const bases = running.map((each, column) => combine(k, each.get(), elementAt(earlier, column)));
    forPlaces((at, column, i) => k.store("y", at, combine(k, elementAt(bases, column), elementAt(elementAt(sums, column), i))));
    running.forEach((each, column) => void each.set(combine(k, each.get(), elementAt(all, column))));
    // The cells are written again.
    k.sync();
  });
}

/** The combinations of the first values, of the first two, and so on. */
function combined(k: Emitter, values: readonly Variable<"f32">[], combine: Combine): readonly F32[] {
  const sums: F32[] = [];
  for (const value of values) sums.push(sums.length === 0 ? value.get() : combine(k, elementAt(sums, sums.length - 1), value.get()));
  return sums;
}

/** Lanes of a group that scan values together: neighbours, or every `step`-th. */
interface ScanLanes {
  /** Number of the lane among them. */
  readonly number: U32;
  /** Largest number of them. */
  readonly most: number;
  readonly step: Extent;
  /** Number of the last one in the group. */
  readonly last: U32 | number;
}

/** What the lanes scan: values of each lane, each for itself. */
interface LaneScan extends Scan {
  readonly own: readonly F32[];
  readonly lanes: ScanLanes;
}

/** The combinations of the values of all earlier lanes, and those of all lanes (Hillis and Steele, 1986). Each step reads one half of the cells. */
function scanLanes(
  k: Emitter,
  cells: SharedArray<"f32">,
  { own, initial, combine, lanes: { number, most, step, last } }: LaneScan,
): { readonly earlier: readonly F32[]; readonly all: readonly F32[] } {
  const lane = k.lane();
  const values = own.map((value) => k.variable("f32", value));
  let half = 0;
  // The cells of each value.
  const from = (i: number): number => half + 2 * k.lanes * i;
  const share = (): void => {
    values.forEach((value, i) => void cells.set(from(i) === 0 ? lane : k.add(lane, from(i)), value.get()));
    k.sync();
  };
  share();
  for (let distance = 1; distance < most; distance *= 2) {
    k.if(k.compare("ge", number, distance), () =>
      values.forEach((value, i) => {
        value.set(combine(k, cells.get(k.sub(k.add(lane, from(i)), times(k, step, distance))), value.get()));
      }),
    );
    half = k.lanes - half;
    share();
  }
  const earlier = own.map(() => k.variable("f32", initial));
  k.if(k.compare("ge", number, 1), () => earlier.forEach((each, i) => void each.set(cells.get(k.sub(k.add(lane, from(i)), step)))));
  return {
    earlier: earlier.map((each) => each.get()),
    all: own.map((_, i) => cells.get(typeof last === "number" ? from(i) + last : k.add(last, from(i)))),
  };
}
