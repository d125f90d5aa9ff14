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

/** How the results of a lane divide a tile of which a lane computes vectors of four columns. */
interface ResultPlaces {
  /** Lanes along a side of the tile. */
  readonly side: number;
  /** Vectors of a row of the lane. */
  readonly perRow: number;
  /** Where the results start in memory, an expression that ends in an operator. */
  readonly start: string;
  /** Columns from one of a vector's to the next one: 1, or the lanes along a side. Default: 1. */
  readonly apart?: number;
  /** Expression of the factor of the results of a row. */
  readonly factor?: (row: string) => string;
}

/**
 * Stores the lane's results, the vectors of a row after each other, in a loop: an epilogue is long, and a text with one for each result
 * takes compilers a second.
 */
export function storeText(
  names: readonly string[],
  { side, perRow, start, apart = 1, factor }: ResultPlaces = { side: 16, perRow: 2, start: "" },
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
    ...(factor === undefined ? [] : [`let factor = ${factor("i")};`]),
    `for (var e = 0u; e < 4u && ${column} < p.n; e++) { store(${start}i * p.n + ${column}, results[r][e]${factor === undefined ? "" : " * factor"}); }`,
    "}",
  ];
}
