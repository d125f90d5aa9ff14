import type { DimValues, DType } from "@centella/core";
import { unitWeights } from "@centella/gpu-kernels";
import type { WgslEmitter } from "../../wgsl/emitter.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import { fourDeclarations, fourType } from "../../wgsl/fours.ts";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import type { Binding, Dispatch, Field } from "./kernel.ts";
import { packedTileText } from "./packedTiles.ts";
import { range } from "./shape.ts";
import { columns, lanes, resultNames, storeText, type TileText, tileLoop, tilePlace } from "./tile.ts";
import { denseRows, type TileRows } from "./tileRows.ts";
import { decodedVectors, hasRowProduct, rowElement, weightEmitter, weightsAtOnce, weightVectors } from "./weights.ts";

/** From this many tiles of 128 rows on, tiles have 128 rows; below it 64, so that more workgroups share the work. */
const enoughTiles = 256;

/** True if {@link tileProducts} can multiply rows of `depth` elements with a weight of the dtype. */
export function hasTileProduct(dtype: DType, depth: number): boolean {
  return depth % unitWeights === 0 && hasRowProduct(dtype, depth);
}

/** Extents of a product `[m, k] × [n, k]`. */
export interface TileParts {
  readonly left: Binding;
  /** Whether the rows are units, whose codes are multiplied with those of weights. */
  readonly isPacked: boolean;
  readonly dtype: DType;
  readonly depth: number;
  readonly columns: number;
  readonly store: EpilogueText;
  /** Where rows and their matrices are found. */
  readonly order?: TileRows;
  rowsIn(dims: DimValues): number;
}

/** From this number of rows on, tiles of weights that lanes decode to floats are faster than lanes with columns of their own. */
const fewestInTiles = 65;

/** Whether tiles are the fastest form for `m` rows of blocks. Lanes with columns of their own are as fast for packed integers as tiles of 64 rows. */
export function hasTiles({ isPacked, columns: n }: Pick<TileParts, "isPacked" | "columns">, m: number): boolean {
  return isPacked ? isLarge(n, m) : m >= fewestInTiles;
}

function isLarge(n: number, m: number): boolean {
  return m >= 128 && Math.ceil(m / 128) * Math.ceil(n / columns) >= enoughTiles;
}

/** Dispatches for runs of up to `most` rows for which {@link hasTiles} is true. */
export function tileProducts(parts: TileParts, most: number): readonly Dispatch[] {
  const { columns: n } = parts;
  const isSmall = (m: number): boolean => hasTiles(parts, m) && !isLarge(n, m);
  return [
    ...(!parts.isPacked && most >= fewestInTiles ? [tileDispatch(parts, 4, isSmall)] : []),
    ...(isLarge(n, most) ? [tileDispatch(parts, 8, (m) => isLarge(n, m))] : []),
  ];
}

/** The bindings and uniforms of a dispatch of tiles. */
export function tileArguments({ left, isPacked, dtype, store, order = denseRows }: TileParts): {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
} {
  return {
    bindings: [
      { ...left, element: isPacked ? "vec4u" : "vec4f" },
      input("b", 1, rowElement(dtype)),
      output("y"),
      ...order.bindings,
      ...store.bindings,
    ],
    uniforms: { ...({ m: "u32", n: "u32", k: "u32" } as Record<string, "u32">), ...order.uniforms, ...store.uniforms },
  };
}

/** A workgroup of 16 × 16 lanes per tile; a lane computes `perLane` rows of eight columns. */
export function tileDispatch(parts: TileParts, perLane: 4 | 8, takes: (m: number) => boolean): Dispatch {
  const { isPacked, dtype, depth, store, order = denseRows } = parts;
  const rows = 16 * perLane;
  const text = isPacked ? packedTileText(dtype) : tileText(dtype, perLane, order);
  return defineDispatch({
    ...tileArguments(parts),
    lanes,
    declarations: [...text.declarations, ...store.declarations],
    body: text.body,
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const groups = order.tilesIn(m, rows) * Math.ceil(parts.columns / columns);
      const values: Record<string, number> = { m, n: parts.columns, k: depth, ...order.valuesIn(m, rows), ...store.values(dims) };
      return { groups: takes(m) ? groups : 0, values };
    },
  });
}

/** Vectors of four weights in a unit. */
const unitVectors = unitWeights / 4;

/** Elements of the depth whose weights and rows workgroup memory holds at once. */
const step = 16;

/**
 * Half of the lanes read 32 weights of a column each, the others 32 elements of a row (16, of 64 rows). Both wait in `v0` to `v7` and pass
 * through workgroup memory in two steps.
 */
function tileText(dtype: DType, perLane: 4 | 8, order: TileRows): TileText {
  const rows = 16 * perLane;
  // Lanes that share the 32 elements of a row.
  const sharers = columns / rows;
  const k = weightEmitter({ b: dtype }, lanes);
  const results = resultNames(perLane);
  const written = (half: number): readonly string[] => {
    const own = range(4).map((i) => 4 * half + i);
    return [
      `if (lane < ${columns}u) { ${writeText(own, "lane")} }`,
      sharers === 1 ? `else { ${writeText(own, "lane")} }` : `else if (share == ${half}u) { ${writeText(range(4), `${columns}u + row`)} }`,
    ];
  };
  const multiply = computeText(perLane);
  const body = [
    ...tilePlace(rows, order),
    ...tileLoop({
      places: [
        `let row = lane % ${rows}u; let share = (lane - ${columns}u) / ${rows}u;`,
        `let column = ${order.column("min(j0 + lane, p.n - 1u)", "p.n")};`,
        `let rowStart = ${order.source("i0 + row")} * (p.k / 4u);`,
      ],
      vector: "vec4f",
      vectors: unitVectors,
      results,
      units: `p.k / ${unitWeights}u`,
      readColumn: weightText(k, dtype),
      readRow: rowText(sharers),
      passes: [0, 1].map((half) => ({ write: written(half), multiply })),
    }),
    ...storeText(results, {}, order),
  ];
  const tiles = `var<workgroup> tiles: array<array<${fourType}, ${(columns + rows) / 4}>, ${step}>;`;
  return { declarations: [...k.declarations, ...fourDeclarations, tiles], body: body.join("\n") };
}

/** Reads unit `u` of the lane's column. */
function weightText(k: WgslEmitter, dtype: DType): readonly string[] {
  const weights = weightsAtOnce(dtype) ?? unitWeights;
  const perRead = weights / 4;
  for (const part of range(unitWeights / weights)) {
    const loaded = weightVectors(k, "b", dtype, `(column * (p.k / ${unitWeights}u) + u) * ${unitWeights / weights}u + ${part}u`);
    decodedVectors(loaded).forEach((vector, i) => void k.lines.push(`v${part * perRead + i} = ${vector};`));
  }
  return k.lines;
}

/** Reads the lane's share of the elements of unit `u` of its row. */
function rowText(sharers: number): readonly string[] {
  const share = sharers === 1 ? "" : `share * ${unitVectors / sharers}u + `;
  return range(unitVectors / sharers).map((i) => `v${i} = a[rowStart + u * ${unitVectors}u + ${share}${i}u];`);
}

/** Writes four of the vectors to workgroup memory. A column's or row's place there is its number in the tile, `at`. */
function writeText(vectors: readonly number[], at: string): string {
  const writes = vectors.flatMap((v, i) => range(4).map((e) => `tiles[${4 * i + e}][(${at}) / 4u][(${at}) % 4u] = v${v}.${"xyzw"[e]};`));
  return writes.join(" ");
}

/**
 * Adds the products of what is in workgroup memory to the lane's results. Constants name the elements of the depth: neither computing nor checking
 * them takes a lane's time.
 */
function computeText(perLane: number): readonly string[] {
  const results = range(perLane).flatMap((i) => [0, 1].map((j) => ({ i, j, name: `c${i}_${j}` })));
  return range(step).flatMap((k) => [
    "{",
    ...[0, 1].map((j) => `let b${j} = vectorOf(tiles[${k}][tx + ${16 * j}u]);`),
    ...range(perLane / 4).map((i) => `let a${i} = vectorOf(tiles[${k}][ty + ${columns / 4 + 16 * i}u]);`),
    ...results.map(({ i, j, name }) => `${name} = fma(vec4f(a${i >> 2}[${i & 3}]), b${j}, ${name});`),
    "}",
  ]);
}
