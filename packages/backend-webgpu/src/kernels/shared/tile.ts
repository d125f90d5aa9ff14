import { range } from "./shape.ts";
import { denseRows, type TileRows } from "./tileRows.ts";

/** Lanes of a workgroup that computes a tile, 16 × 16. */
export const lanes = 256;

/** Columns of a tile. A lane computes eight of them. */
export const columns = 128;

/** Text of a dispatch of a tile of products. */
export interface TileText {
  readonly declarations: readonly string[];
  readonly body: string;
}

/** Names of a lane's results: four columns each, of the first and of the second half of the tile. */
export function resultNames(perLane: number): readonly string[] {
  return range(perLane).flatMap((i) => [0, 1].map((j) => `c${i}_${j}`));
}

/** Defines the workgroup's first row and column, `i0` and `j0`, and the lane's place in the tile. */
export function tilePlace(rows: number, order: TileRows = denseRows): readonly string[] {
  return [
    `let down = ${order.tiles(rows)};`,
    // Neighbouring workgroups share columns, so weights are read from memory once.
    `let i0 = group % down * ${rows}u;`,
    `let j0 = group / down * ${columns}u;`,
    ...order.start({ tile: "group % down", row: "i0", column: "j0", rows, columns, lanes }, "p.n"),
    "let tx = lane % 16u; let ty = lane / 16u;",
  ];
}

/** The loop of a tile, whose lanes read a unit of a column or of a row each and share it in workgroup memory. */
interface TileLoop {
  /** Constants: where the lane's column and row are. */
  readonly places: readonly string[];
  /** WGSL type and number of the vectors in which a lane has what it read: `v0`, `v1`, and so on. */
  readonly vector: string;
  readonly vectors: number;
  /** Names of a lane's results, vectors of four floats. */
  readonly results: readonly string[];
  /** Expression of the number of units of the depth. */
  readonly units: string;
  /** Statements of the first lanes, one for each column of the tile, and of the others, that read unit `u`. */
  readonly readColumn: readonly string[];
  readonly readRow: readonly string[];
  /** Statements that write vectors to workgroup memory, and those that multiply what is there, one after the other. */
  readonly passes: readonly { readonly write: readonly string[]; readonly multiply: readonly string[] }[];
}

/** Variables and loop of a tile, up to its results. */
export function tileLoop(loop: TileLoop): readonly string[] {
  const { places, vector, vectors, results, units, readColumn, readRow, passes } = loop;
  return [
    ...places,
    ...range(vectors).map((i) => `var v${i} = ${vector}();`),
    ...results.map((name) => `var ${name} = vec4f();`),
    `for (var u = 0u; u < ${units}; u++) {`,
    `if (lane < ${columns}u) {`,
    ...readColumn,
    "} else {",
    ...readRow,
    "}",
    ...passes.flatMap(({ write, multiply }) => ["workgroupBarrier();", ...write, "workgroupBarrier();", ...multiply]),
    "}",
  ];
}

/** How the results of a lane divide a tile of which a lane computes vectors of four columns. */
interface ResultPlaces {
  /** Lanes along a side of the tile. Default: 16. */
  readonly side?: number;
  /** Vectors of a row of the lane. Default: 2. */
  readonly perRow?: number;
  /** Where the results start in memory, an expression that ends in an operator. Default: at the start. */
  readonly start?: string;
  /** Columns from one of a vector's to the next one: 1, or the lanes along a side. Default: 1. */
  readonly apart?: number;
}

/**
 * Stores the lane's results, the vectors of a row after each other, in a loop: an epilogue is long, and a text with one for each result
 * takes compilers a second.
 */
export function storeText(
  names: readonly string[],
  { side = 16, perRow = 2, start = "", apart = 1 }: ResultPlaces = {},
  order: TileRows = denseRows,
): readonly string[] {
  const row = perRow === 1 ? "r" : `r / ${perRow}u`;
  const column = apart === 1 ? "j + e" : `j + e * ${apart}u`;
  return [
    `var results = array<vec4f, ${names.length}>(${names.join(", ")});`,
    `for (var r = 0u; r < ${names.length}u; r++) {`,
    `let i = ${order.result(`i0 + r / ${4 * perRow}u * ${4 * side}u + ty * 4u + ${row} % 4u`)};`,
    `let j = j0 + ${perRow === 1 ? "" : `r % ${perRow}u * ${4 * side}u + `}${apart === 1 ? "tx * 4u" : "tx"};`,
    "if (i >= p.m) { continue; }",
    `for (var e = 0u; e < 4u && ${column} < p.n; e++) { store(${start}i * p.n + ${column}, results[r][e]); }`,
    "}",
  ];
}
