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

/**
 * Where the kernel of a product finds what belongs to row `i` of its tiles: the row to multiply, the weight's matrix, and the row of the result.
 * `p.m` is the number of rows of the result.
 */
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
  /** Whether rows are found in memory, so that lanes keep those that they read again and again. */
  readonly isLookedUp: boolean;
  /** The row of the result of row `i`; `p.m` or more if there is none. */
  result(i: string): string;
  /** The row that is multiplied for row `i`. */
  source(i: string): string;
  /** The row that is multiplied for row `i` of the result. */
  sourceOfResult(i: string): string;
  /** The row of the stored weight that gives column `j` of `n`. */
  column(j: string, n: string): string;
}

/** Rows in order, multiplied with one matrix. */
export const denseRows: TileRows = {
  bindings: [],
  uniforms: {},
  tilesIn: (m, rows) => Math.ceil(m / rows),
  valuesIn: () => ({}),
  tiles: (rows) => `(p.m + ${rows - 1}u) / ${rows}u`,
  start: () => [],
  isLookedUp: false,
  result: (i) => i,
  source: (i) => `min(${i}, p.m - 1u)`,
  sourceOfResult: (i) => i,
  column: (j) => j,
};
