import type { Dim, DimValues, Shape } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { Bool, Emitter, F32, NumberType, U32, Values } from "../emitter.ts";
import { asValue, type Extent, isBelow, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuArguments, type GpuScope, type GpuScratch, type GpuStep, groupCount, mostElements } from "../kernel.ts";
import { type ColumnTile, columnsIn, columnTile, lanesIn, tilesIn, wholeIn } from "./columnTile.ts";
import { forChunks, forTurns, type Rows } from "./rows.ts";
import { sharersOf } from "./shares.ts";
import { accumulator, loadSummary, type Summary, storeSummary } from "./summary.ts";

/** Fewest rows of a lane where several groups share the rows of a tile. */
const leastTurns = 4;

/** A tensor `[...outer, length, ...inner]` that is worked on along an axis other than its last, by groups that have tiles of columns. */
export interface Columns {
  readonly outer: Shape;
  readonly length: Dim;
  readonly tile: ColumnTile;
  /** Number of groups that share the rows of each tile, in the largest run of a bucket. */
  readonly sharers: number;
}

/** The columns that rows are, next to each other; undefined if there is at most one in every run of the bucket. */
export function columnsOf({ outer, along, inner }: Rows, bucket: DimValues | undefined): Columns | undefined {
  if (along.length !== 1 || mostElements(inner, bucket) <= 1) return undefined;
  const most = mostElements(along, bucket);
  const tile = columnTile(inner, most, bucket);
  const groups = groupCount([...outer, tile.count], (dim) => mostElements([dim], bucket));
  const sharers = sharersOf(groups, most * tile.across * tile.width);
  const sharersWithTurns = Math.max(1, Math.min(sharers, Math.floor(most / (tile.leastDown * leastTurns))));
  return { outer, length: elementAt(along, 0), tile, sharers: sharersWithTurns };
}

/**
 * The same for steps whose groups each read the summaries of all shares, of `values` values. There are few enough shares for these reads to be no more
 * than those of a group's own rows.
 */
export function columnsInShares(rows: Rows, bucket: DimValues | undefined, values: number): Columns | undefined {
  const columns = columnsOf(rows, bucket);
  const most = Math.floor(Math.sqrt(mostElements(rows.along, bucket) / values));
  return columns && { ...columns, sharers: Math.max(1, Math.min(columns.sharers, most)) };
}

/** The summaries of each tile's shares, as columns. One group combines those of a tile. */
export function partColumns({ outer, tile, sharers }: Columns, bucket: DimValues | undefined): Columns {
  return { outer, length: sharers, tile: columnTile(tile.inner, sharers, bucket), sharers: 1 };
}

/** The summaries of all shares of columns, in temporary memory. */
export function columnParts({ outer, tile, sharers }: Columns, { types }: { readonly types: readonly NumberType[] }): GpuScratch {
  return { kind: "scratch", dtype: "u32", elements: [...outer, sharers, ...tile.inner, types.length] };
}

/** Runs a group for each tile of columns and each share of the rows. */
export function forColumns(
  columns: Columns,
  { name, args }: { readonly name: string; readonly args: GpuArguments },
  body: (scope: GpuScope, lane: ColumnLane) => void,
): GpuStep {
  const { outer, tile, sharers } = columns;
  return {
    kind: "groups",
    name,
    args,
    shape: [...outer, tile.count, sharers],
    lanes: tile.lanes,
    body: (scope, group) => body(scope, new ColumnLane(scope, columns, group)),
  };
}

/** Summaries of a lane's columns. */
export interface ColumnSummaries<T extends readonly NumberType[]> {
  /** Those of each column, in the first of its lanes; undefined values in the others. */
  inFirst(): readonly Values<T>[];
  /** Those of each column, in all of its lanes. */
  inAll(): readonly Values<T>[];
}

/**
 * A lane of a group that has a tile of columns and a share of their rows. Neighbouring lanes have neighbouring columns, one or four each, and
 * the lanes of a column have every n-th of the rows.
 */
export class ColumnLane {
  /** Number of columns of a lane. */
  readonly width: 1 | 4;
  /** Number of lanes of a column, at most {@link mostDown}, and from one of them to the next one. */
  readonly down: Extent;
  readonly mostDown: number;
  readonly across: Extent;
  /** Number of the lane among those of its columns. It may be {@link down} or more in a lane that {@link ifInside} rules out. */
  readonly number: U32;
  /** Number of the group's share of the rows. */
  readonly share: Extent;
  /** First row of the share, and the row after its last. */
  readonly start: Extent;
  readonly end: Extent;
  /** Place of the lane among those next to each other. */
  readonly place: U32;
  readonly #k: Emitter;
  readonly #columns: Columns;
  /** The lane's first column. */
  readonly #column: U32;
  readonly #inner: Extent;
  readonly #isInside: Bool | undefined;
  /** Number of the tile's matrix, and the flat index of the lane's first column in the matrix's first row. */
  readonly #matrix: Extent;
  readonly #first: Extent;

  constructor(scope: GpuScope, columns: Columns, group: U32) {
    const { k } = scope;
    const { tile, sharers } = columns;
    const { width, mostDown } = tile;
    const tiles = tilesIn(scope, tile);
    const [matrix, tileNumber, share] = unflatten(k, group, [1, tiles, sharers]);
    const { across, down } = lanesIn(scope, tile, tiles);
    const [y, x] = [k.quotient(k.lane(), across), k.remainder(k.lane(), across)];
    const column = asValue(k, timesPlus(k, asValue(k, plus(k, times(k, tileNumber, across), x)), width, 0));
    const inner = columnsIn(scope, tile);
    const whole = wholeIn(tile);
    const conditions = [...(whole.columns ? [] : [isBelow(k, column, inner)]), ...(whole.rows ? [] : [isBelow(k, y, down)])];
    this.#isInside = conditions.length === 0 ? undefined : conditions.reduce((a, b) => k.both(a, b));
    const rows = scope.extent(columns.length);
    const [start, end] = shareOfRows(k, rows, share, sharers);
    this.#first = plus(k, times(k, times(k, matrix, rows), inner), column);
    this.#k = k;
    this.#columns = columns;
    this.place = x;
    this.#column = column;
    this.#inner = inner;
    this.#matrix = matrix;
    this.width = width;
    this.down = down;
    this.mostDown = mostDown;
    this.across = across;
    this.number = y;
    this.share = share;
    this.start = start;
    this.end = end;
  }

  /** Most rows of a lane; Infinity if runs differ. */
  get mostTurns(): number {
    const { length, sharers, tile } = this.#columns;
    return typeof length === "number" ? Math.ceil(Math.ceil(length / sharers) / tile.leastDown) : Number.POSITIVE_INFINITY;
  }

  /** Number in the group of the last of the lanes that have this lane's columns. */
  last(): U32 {
    const k = this.#k;
    const { down, across } = this;
    const others = typeof down === "number" ? down - 1 : k.sub(down, 1);
    return asValue(k, plus(k, this.place, times(k, others, across)));
  }

  /** Runs `body` unless the lane has nothing to do. */
  ifInside(body: () => void): void {
    if (this.#isInside === undefined) body();
    else this.#k.if(this.#isInside, body);
  }

  /** Runs `body` for the lane's columns in a row, with the flat index and the number of each. */
  forRow(row: U32, body: (at: U32, column: number) => void): void {
    this.#forWidth(asValue(this.#k, timesPlus(this.#k, row, this.#inner, this.#first)), body);
  }

  /** The same for all rows of the lane. Loads of several rows overlap. */
  forRows(body: (at: U32, column: number) => void): void {
    this.ifInside(() => forTurns(this.#k, this.#rows(), (row) => this.forRow(row, body)));
  }

  /** The same, row by row. */
  forSingleRows(body: (at: U32, column: number) => void): void {
    this.ifInside(() => {
      const { first, to, step } = this.#rows();
      this.#k.for(first, asValue(this.#k, to), step, (row) => this.forRow(row, body));
    });
  }

  /** Reads the elements of the lane's columns, and runs `body` for a few of a column at a time, with their rows. */
  forChunks(read: (at: U32) => F32, body: (values: readonly F32[], column: number, rows: readonly U32[]) => void): void {
    this.ifInside(() =>
      forChunks(this.#k, this.#rows(), this.mostTurns, (places) => {
        const rows = places.map((place) => place());
        const values = Array.from({ length: this.width }, (): F32[] => []);
        for (const row of rows) this.forRow(row, (at, column) => elementAt(values, column).push(read(at)));
        values.forEach((own, column) => void body(own, column, rows));
      }),
    );
  }

  /** Runs `body` in the first lane of each column, with the index in `[...outer, sharers, columns]` and the number of each column. */
  forFirst(body: (at: U32, column: number) => void): void {
    const k = this.#k;
    const { sharers } = this.#columns;
    const to = asValue(k, timesPlus(k, asValue(k, timesPlus(k, this.#matrix, sharers, this.share)), this.#inner, this.#column));
    const isFirst = k.compare("eq", this.number, 0);
    k.if(this.#isInside === undefined ? isFirst : k.both(isFirst, this.#isInside), () => this.#forWidth(to, body));
  }

  /** Combines values of each column. `each` calls `take` with the number of a column and the values of elements. */
  summarize<const T extends readonly NumberType[]>(
    summary: Summary<T>,
    each: (take: (column: number, values: Values<T>) => void) => void,
  ): ColumnSummaries<T> {
    const own = Array.from({ length: this.width }, () => accumulator(this.#k, summary));
    each((column, values) => elementAt(own, column).add(values));
    return this.#acrossLanes(
      summary,
      own.map((column) => column.get()),
    );
  }

  /** Stores the summaries of the group's share in the argument `parts`. */
  storeParts<const T extends readonly NumberType[]>(summaries: ColumnSummaries<T>): void {
    const values = summaries.inFirst();
    this.forFirst((at, column) => storeSummary(this.#k, at, elementAt(values, column)));
  }

  /** Combines the summaries of the first `count` shares, by default of all, which are in the argument `parts`. */
  summaryOfParts<const T extends readonly NumberType[]>(summary: Summary<T>, count: Extent = this.#columns.sharers): ColumnSummaries<T> {
    const k = this.#k;
    const { types } = summary;
    const first = timesPlus(k, times(k, this.#matrix, this.#columns.sharers), this.#inner, this.#column);
    const places = { first: this.number, from: 0, to: count, step: this.down };
    return this.summarize(summary, (take) =>
      this.ifInside(() =>
        forChunks(k, places, Math.ceil(this.#columns.sharers / this.#columns.tile.leastDown), (shares) => {
          for (const share of shares)
            this.#forWidth(asValue(k, timesPlus(k, share(), this.#inner, first)), (at, column) =>
              take(column, loadSummary(k, types, times(k, at, types.length))),
            );
        }),
      ),
    );
  }

  #rows(): Parameters<typeof forTurns>[1] {
    const k = this.#k;
    return { first: asValue(k, plus(k, this.start, this.number)), from: this.start, to: this.end, step: this.down };
  }

  /** Runs `body` for neighbouring columns from index `first` on. */
  #forWidth(first: U32, body: (at: U32, column: number) => void): void {
    if (this.width === 1) {
      body(first, 0);
      return;
    }
    let column = 0;
    this.#k.neighbours([first], ([at = first]) => body(at, column++));
  }

  #acrossLanes<const T extends readonly NumberType[]>({ types, combine }: Summary<T>, values: readonly Values<T>[]): ColumnSummaries<T> {
    const k = this.#k;
    const { lanes, leastDown, mostDown } = this.#columns.tile;
    if (mostDown === 1) return { inFirst: () => values, inAll: () => values };
    const cells = types.map((type: NumberType) => k.shared(type, lanes * this.width));
    // A tuple through `map` is an array to the types.
    const read = (place: U32): Values<T> => cells.map((cell) => cell.get(place)) as readonly unknown[] as Values<T>;
    const write = (place: U32, own: Values<T>): void => own.forEach((value, i) => void elementAt(cells, i).set(place, value));
    const places = values.map((_, column) => k.add(k.lane(), column * lanes));
    places.forEach((place, column) => void write(place, elementAt(values, column)));
    for (let half = 2 ** Math.ceil(Math.log2(mostDown)) / 2; half >= 1; half /= 2) {
      k.sync();
      const isLower = isBelow(k, this.number, half);
      const hasOther = 2 * half <= leastDown ? isLower : k.both(isLower, isBelow(k, k.add(this.number, half), this.down));
      k.if(hasOther, () => {
        for (const place of places) write(place, combine(k, read(place), read(asValue(k, plus(k, place, times(k, this.across, half))))));
      });
    }
    return {
      inFirst: () => places.map(read),
      inAll: () => {
        k.sync();
        return values.map((_, column) => read(k.add(this.place, column * lanes)));
      },
    };
  }
}

/** First row of a share, and the row after its last. A share after the last row is empty. */
function shareOfRows(k: Emitter, rows: Extent, share: Extent, sharers: number): readonly [start: Extent, end: Extent] {
  if (sharers === 1) return [0, rows];
  const size = k.quotient(asValue(k, plus(k, rows, sharers - 1)), sharers);
  const start = k.min(asValue(k, times(k, size, share)), rows);
  return [start, k.min(k.add(start, size), rows)];
}
