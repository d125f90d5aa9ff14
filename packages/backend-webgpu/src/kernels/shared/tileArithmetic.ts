import { unitWeights } from "@centella/gpu-kernels";
import { range } from "./shape.ts";
import { columns } from "./tile.ts";

/** Vectors of four weights in a unit. */
export const unitVectors: number = unitWeights / 4;

/** Elements of the depth whose weights and rows workgroup memory holds at once. */
export const step = 16;

/**
 * How a tile of `columns` columns and some rows multiplies. Of each unit of 32 elements of the depth, lanes hold eight vectors of a column or
 * of a row, `v0` to `v7`. Half of these at a time pass through workgroup memory, where a column's or row's place is its number in the tile.
 */
export interface TileArithmetic {
  /** WGSL type of the vectors. */
  readonly vector: string;
  /** Element type of the binding of rows. */
  readonly rows: "vec4f" | "vec4u";
  /** The distance between the columns of a vector of results. */
  readonly apart: 1 | 16;
  /** Functions, and workgroup memory for `stride` columns and rows. */
  declarations(stride: number): readonly string[];
  /** Variables of a lane besides its vectors. */
  readonly variables: readonly string[];
  /** Place of a row's first element in the binding, in vectors of it; `source` is the row's number. */
  rowStart(source: string): string;
  /** Reads the elements of unit `u` of a row to the first vectors: all of them, or the lane's share of these if `sharers` lanes share a row. */
  readRow(sharers: number): readonly string[];
  /** Statement that takes vector `i` of a column's weights, an expression of type vec4f, and those after the last one. */
  takeWeights(i: number, weights: string): string;
  readonly endWeights: readonly string[];
  /** Writes four of the vectors to place `at`. */
  write(vectors: readonly number[], at: string, stride: number): string;
  /** Writes what a lane has of its column besides vectors. */
  readonly writeColumn: string;
  /** Adds the products of what is in workgroup memory to a lane's results `c0_0`, `c0_1`, and so on, of `perLane` rows. */
  compute(perLane: number, stride: number): readonly string[];
  /** Expression of the factor of the results of a row; undefined for none. */
  factor?(row: string): string;
}

/** Products and sums in f32. A lane's columns are neighbours. */
export const floatArithmetic: TileArithmetic = {
  vector: "vec4f",
  rows: "vec4f",
  apart: 1,
  declarations: (stride) => [`var<workgroup> tiles: array<f32, ${step * stride}>;`],
  variables: [],
  rowStart: (source) => `${source} * (p.k / 4u)`,
  readRow: (sharers) =>
    range(unitVectors / sharers).map((i) => {
      const share = sharers === 1 ? "" : `share * ${unitVectors / sharers}u + `;
      return `v${i} = a[rowStart + u * ${unitVectors}u + ${share}${i}u];`;
    }),
  takeWeights: (i, weights) => `v${i} = ${weights};`,
  endWeights: [],
  write: (vectors, at, stride) =>
    vectors.flatMap((v, i) => range(4).map((e) => `tiles[${(4 * i + e) * stride}u + ${at}] = v${v}.${"xyzw"[e]};`)).join(" "),
  writeColumn: "",
  compute(perLane, stride) {
    const four = (at: string): string =>
      `vec4f(${range(4)
        .map((e) => `tiles[k * ${stride}u + ${at} + ${e}u]`)
        .join(", ")})`;
    return [
      `for (var k = 0u; k < ${step}u; k++) {`,
      ...[0, 1].map((j) => `let b${j} = ${four(`${64 * j}u + tx * 4u`)};`),
      ...range(perLane / 4).map((i) => `let a${i} = ${four(`${columns + 64 * i}u + ty * 4u`)};`),
      ...range(perLane).flatMap((i) => [0, 1].map((j) => `c${i}_${j} = fma(vec4f(a${Math.floor(i / 4)}[${i % 4}]), b${j}, c${i}_${j});`)),
      "}",
    ];
  },
};
