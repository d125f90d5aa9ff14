import type { Binding } from "./kernel.ts";

/** A workgroup's part of a product. */
export interface GroupPlace {
  /** Expressions: the number of the tile of rows, and the first row and column. */
  readonly tile: string;
  readonly row: string;
  readonly column: string;
  /** Rows and columns of the part, and lanes of the workgroup. */
  readonly rows: number;
  readonly columns: number;
  readonly lanes: number;
}

/** Where products find the rows of their tiles: by default by the number of the row, in one matrix each. `p.m` is the number of rows of results. */
export interface TileRows {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, "u32">>;
  /** Number of tiles of `rows` rows in a run with `m` rows of results. */
  tilesIn(m: number, rows: number): number;
  valuesIn(m: number, rows: number): Readonly<Record<string, number>>;
  /** The number of tiles of `rows` rows, an expression. */
  tiles(rows: number): string;
  /** Statements before a workgroup's part of a product with `n` columns, an expression. They may end the workgroup. */
  start(place: GroupPlace, n: string): readonly string[];
  /** The row of the result of row `i`; `p.m` or more if there is none. */
  result(i: string): string;
  /** The row that is multiplied for row `i`. */
  source(i: string): string;
  /** The row of the stored weight for column `j` of `n`. */
  column(j: string, n: string): string;
}

/** Rows of a matrix that all are multiplied with the same weight. */
export const denseRows: TileRows = {
  bindings: [],
  uniforms: {},
  tilesIn: (m, rows) => Math.ceil(m / rows),
  valuesIn: () => ({}),
  tiles: (rows) => `(p.m + ${rows - 1}u) / ${rows}u`,
  start: () => [],
  result: (i) => i,
  source: (i) => `min(${i}, p.m - 1u)`,
  column: (j) => j,
};
