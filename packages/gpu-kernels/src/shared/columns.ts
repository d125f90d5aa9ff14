import type { Dim, DimValues, Shape, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type Bool, type Emitter, type F32, neighbourCount, type U32 } from "../emitter.ts";
import { asValue, type Extent, isBelow, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuArguments, type GpuScope, type GpuStep, mostElements } from "../kernel.ts";
import { dimAt, forTurns, rowsOf } from "./rows.ts";
import { sharersOf } from "./shares.ts";

/** Most lanes of a group that reads a tile of columns. */
const tileLanes = 256;

/** The number of lanes of a group is a multiple of it. */
const warpLanes = 32;

/** Most lanes next to each other in a tile: 512 bytes where each reads four columns, else 256. */
const mostAcross = { 1: 64, 4: 32 } as const;

/** Fewest rows of a lane where several groups share the rows of a tile. */
const leastTurns = 4;

/** A tensor that is reduced over an axis other than its last: `[...outer, length, columns]`. */
export interface Columns {
  readonly outer: Shape;
  readonly length: Dim;
  readonly columns: number;
}

/** How the lanes of groups share a tile of columns: `down` lanes, a power of two, for each of `across` places of `width` columns. */
interface Tile {
  readonly width: 1 | 4;
  readonly across: number;
  readonly down: number;
  /** Lanes of a group: whole warps, so that some may have nothing to do. */
  readonly lanes: number;
  /** Number of tiles that cover all columns. */
  readonly tiles: number;
}

/** The columns of a reduction of `x` over an axis; undefined if their number is not known, or is one. */
export function columnsOf(x: TensorSpec, given: number | null): Columns | undefined {
  const { outer, inner, axis } = rowsOf(x, given);
  if (axis === null || !inner.every((dim) => typeof dim === "number")) return undefined;
  const columns = mostElements(inner);
  return columns > 1 ? { outer, length: dimAt(x, axis), columns } : undefined;
}

/** Number of groups that share the rows of each tile, in the largest run of a bucket. */
export function rowSharersOf({ outer, length, columns }: Columns, bucket: DimValues | undefined): number {
  const most = mostElements([length], bucket);
  const { width, across, down, tiles } = tileOf(columns, most);
  const sharers = sharersOf(mostElements(outer, bucket) * tiles, most * across * width);
  return Math.max(1, Math.min(sharers, Math.floor(most / (down * leastTurns))));
}

function tileOf(columns: number, mostRows: number): Tile {
  const width = columns % neighbourCount === 0 ? neighbourCount : 1;
  const places = columns / width;
  const tiles = Math.ceil(places / mostAcross[width]);
  const across = Math.ceil(places / tiles);
  const down = 2 ** Math.floor(Math.log2(Math.max(1, Math.min(tileLanes / across, 2 * mostRows - 1))));
  const lanes = Math.ceil((across * down) / warpLanes) * warpLanes;
  return { width, across, down, lanes, tiles };
}

/** A combination of the rows of {@link Columns}. */
export interface ColumnFold {
  readonly name: string;
  readonly args: GpuArguments;
  /** Number of groups that share the rows of each tile. */
  readonly sharers: number;
  readonly initial: number;
  readonly combine: (k: Emitter, a: F32, b: F32) => F32;
  /** An element by its flat index. */
  readonly read: (scope: GpuScope) => (at: U32) => F32;
  /** Stores a result of a group's rows, by its index in `[...outer, sharers, columns]`. */
  readonly store: (scope: GpuScope, at: U32, value: F32) => void;
}

/**
 * A group for each tile of columns and each share of the rows. Neighbouring lanes read neighbouring columns, and combine the values of the
 * lanes of a column in shared memory.
 */
export function foldColumns({ outer, length, columns }: Columns, bucket: DimValues | undefined, fold: ColumnFold): GpuStep {
  const tile = tileOf(columns, mostElements([length], bucket));
  const { width, across, down, lanes, tiles } = tile;
  const { name, args, sharers, initial, combine } = fold;
  return {
    kind: "groups",
    name,
    args,
    shape: [...outer, tiles, sharers],
    lanes,
    body: (scope, group) => {
      const { k } = scope;
      const [before, tileNumber, share] = unflatten(k, group, [1, scope.whole(tiles), sharers]);
      const [y, x] = [k.quotient(k.lane(), across), k.remainder(k.lane(), across)];
      const column = asValue(k, timesPlus(k, asValue(k, plus(k, times(k, tileNumber, across), x)), width, 0));
      const inner = scope.whole(columns);
      const conditions = [
        ...(across * width * tiles === columns ? [] : [isBelow(k, column, inner)]),
        ...(across * down === lanes ? [] : [isBelow(k, y, down)]),
      ];
      const isInside = conditions.length === 0 ? undefined : conditions.reduce((a, b) => k.both(a, b));
      const rows = scope.extent(length);
      const [start, end] = shareOfRows(k, rows, share, sharers);
      const first = plus(k, times(k, times(k, before, rows), inner), column);
      const own = Array.from({ length: width }, () => k.variable("f32", initial));
      const read = fold.read(scope);
      const take = (at: U32, i: number): void => {
        const variable = elementAt(own, i);
        variable.set(combine(k, variable.get(), read(at)));
      };
      onlyIf(k, isInside, () =>
        forTurns(k, { first: asValue(k, plus(k, start, y)), from: start, to: end, step: down }, (row) => {
          forColumns(k, width, asValue(k, timesPlus(k, row, inner, first)), take);
        }),
      );
      const totals = acrossLanes(k, tile, { lane: y, values: own.map((variable) => variable.get()), combine });
      const to = asValue(k, timesPlus(k, asValue(k, timesPlus(k, before, sharers, share)), inner, column));
      const isFirst = k.compare("eq", y, 0);
      k.if(isInside === undefined ? isFirst : k.both(isFirst, isInside), () => {
        forColumns(k, width, to, (at, i) => fold.store(scope, at, elementAt(totals, i)));
      });
    },
  };
}

/** First row of a share, and the row after its last. A share after the last row is empty. */
function shareOfRows(k: Emitter, rows: Extent, share: Extent, sharers: number): readonly [start: Extent, end: Extent] {
  if (sharers === 1) return [0, rows];
  const size = k.quotient(asValue(k, plus(k, rows, sharers - 1)), sharers);
  const start = k.min(asValue(k, times(k, size, share)), rows);
  return [start, k.min(k.add(start, size), rows)];
}

function onlyIf(k: Emitter, condition: Bool | undefined, body: () => void): void {
  if (condition === undefined) body();
  else k.if(condition, body);
}

/** Runs `body` for `width` neighbouring columns, with the index and the number of each. */
function forColumns(k: Emitter, width: 1 | 4, first: U32, body: (at: U32, i: number) => void): void {
  if (width === 1) {
    body(first, 0);
    return;
  }
  let i = 0;
  k.neighbours([first], ([at = first]) => body(at, i++));
}

/** Values of a lane, which is the `lane`-th of its columns. */
interface LaneValues extends Pick<ColumnFold, "combine"> {
  readonly lane: U32;
  readonly values: readonly F32[];
}

/** Combines the values of the lanes of the same columns; the first one of them has the results. */
function acrossLanes(k: Emitter, { across, down, lanes, width }: Tile, { lane, values, combine }: LaneValues): readonly F32[] {
  if (down === 1) return values;
  const cells = k.shared("f32", lanes * width);
  const places = values.map((_, i) => k.add(k.lane(), i * lanes));
  places.forEach((place, i) => void cells.set(place, elementAt(values, i)));
  for (let half = down / 2; half >= 1; half /= 2) {
    k.sync();
    k.if(isBelow(k, lane, half), () => {
      for (const place of places) cells.set(place, combine(k, cells.get(place), cells.get(k.add(place, half * across))));
    });
  }
  return places.map((place) => cells.get(place));
}
